// What each view asks: its fields, and the option of the command line that each of them is. Questions, links, forms and
// what is copied are all made from these tables.

const dtypes = ['bf16', 'fp8', 'int8', 'nvfp4', 'mxfp4', 'int4'];
const on = (def) => ({key: 'on', option: 'on', label: 'Machines', many: true, def,
  hint: 'a name, or a slice such as h100-sxm:8 or tpu-v5e:4x4'});
const set = {key: 'set', option: 'set', label: 'What if', many: true, def: [], pairs: true};
const model = {key: 'model', positional: true, shared: 'model.model', label: 'Model', def: 'llama-3.1-8b'};
const software = {key: 'software', option: 'software', label: 'Software', def: '', more: true,
  hint: 'library whose measurements expected times use: nccl-2.29, vllm'};
const textbook = {key: 'textbook', option: 'textbook', label: 'Textbook collectives', flag: true, def: false,
  more: true};

export const views = {
  op: {
    label: 'Operation', command: ['op'], python: 'op', explains: true,
    fields: [
      {key: 'program', positional: true, label: 'Program', def: 'bf16[B, D] * int8[D, F] -> bf16[B, F]', most: 60000},
      {key: 'dims', option: 'dims', label: 'Sizes', def: 'B=64,D=8192,F=8192', pairs: true},
      on(['tpu-v5e']),
      {key: 'mesh', option: 'mesh', label: 'Mesh', def: '', pairs: true,
        hint: 'X=4,Y=4: axes over the chips of a slice'},
      set,
      {key: 'tile', option: 'tile', label: 'Tile', def: '', more: true, hint: 'B=128,F=256, or best: a search'},
      {key: 'expert-groups', option: 'expert-groups', label: 'Expert groups', def: '', more: true, hint: '4/8'},
      software, textbook,
      {key: 'exact-flops', option: 'exact-flops', label: 'Exact FLOPs of sums (2D - 1)', flag: true, def: false,
        more: true},
      {key: 'plot', page: true, def: 'roofline'},
      {key: 'sweep', page: true, def: ''},
      {key: 'all-roofs', page: true, flag: true, def: false},
    ],
  },
  model: {
    label: 'Model', command: ['model'], python: 'model',
    fields: [
      model,
      {key: 'seq', option: 'seq', label: 'Sequence', def: '', hint: 'tokens; default: the longest of the model'},
      {key: 'kv-dtype', option: 'kv-dtype', label: 'KV cache', def: '', choices: dtypes},
      {key: 'weights', option: 'weights', label: 'Weights', def: '',
        hint: 'bf16, int8, nvfp4, Q4_K_M; default: as stored'},
    ],
  },
  train: {
    label: 'Train', command: ['train'], python: 'train', explains: true,
    search: {command: ['plan', 'train'], python: 'plan.train', without: ['mfu', 'program'], add: ['for', 'without',
      'front']},
    fields: [
      model, on(['h100-sxm:8']),
      {key: 'batch-tokens', option: 'batch-tokens', label: 'Tokens per step', def: '128Ki', slide: [14, 24],
        hint: 'of all chips together: 4Mi'},
      {key: 'seq', option: 'seq', label: 'Sequence', def: '4096', hint: 'tokens'},
      {key: 'mesh', option: 'mesh', label: 'Plan', def: 'fsdp=8', pairs: true, plan: true,
        hint: 'data, fsdp, tensor, sequence, context, expert, pipeline; their product is the number of chips'},
      {key: 'zero', option: 'zero', label: 'ZeRO', def: '', choices: ['1', '2', '3'], plan: true},
      {key: 'microbatches', option: 'microbatches', label: 'Micro-batches', def: '', plan: true},
      {key: 'schedule', option: 'schedule', label: 'Schedule', def: '', plan: true,
        choices: ['1f1b', 'gpipe', 'interleaved', 'zero-bubble']},
      {key: 'remat', option: 'remat', label: 'Recompute', def: 'full', plan: true,
        choices: ['none', 'selective', 'alternate', 'full'], open: true},
      {key: 'optimizer', option: 'optimizer', label: 'Optimizer', def: '', more: true, hint: 'adam,master, or sgd'},
      {key: 'framework', option: 'framework', label: 'Framework', def: '', more: true, open: true,
        choices: ['megatron-lm', 'nemo', 'torchtitan', 'llm-foundry', 'prime-rl', 'internevo', 'primus', 'maxtext']},
      {key: 'products', option: 'products', label: 'Matmuls in', def: '', more: true, choices: ['fp8', 'mxfp8',
        'nvfp4']},
      {key: 'overlap', option: 'overlap', label: 'Overlap', def: '', more: true, hint: 'expert,tensor, or none'},
      {key: 'lora', option: 'lora', label: 'LoRA rank', def: '', more: true},
      {key: 'tokens', option: 'tokens', label: 'Tokens of the run', def: '', hint: '15T: days and cost'},
      {key: 'storage', option: 'storage', label: 'Storage', def: '', more: true,
        hint: '2TB/s: goodput with interruptions'},
      {key: 'price', option: 'price', label: 'USD per chip-hour', def: '', more: true},
      {key: 'mfu', option: 'mfu', label: 'Assumed MFU', def: '', more: true, hint: '0.4'},
      set, software, textbook,
      {key: 'for', option: 'for', label: 'Least', def: '', only: 'search',
        choices: ['time', 'cost', 'energy', 'chips', 'memory']},
      {key: 'without', option: 'without', label: 'Without', def: '', only: 'search', hint: 'pipeline,context'},
      {key: 'front', option: 'front', label: 'Front', def: '', only: 'search', hint: 'time,cost'},
    ],
  },
  serve: {
    label: 'Serve', command: ['serve'], python: 'serve', explains: true,
    search: {command: ['plan', 'serve'], python: 'plan.serve',
      without: ['batch', 'concurrency', 'rate', 'draft', 'acceptance', 'prefill-workers', 'decode-workers'],
        add: ['for', 'without', 'percentile']},
    fields: [
      model, on(['h100-sxm:2']),
      {key: 'prompt', option: 'prompt', label: 'Prompt', def: '1024', slide: [5, 17], hint: 'tokens per request'},
      {key: 'output', option: 'output', label: 'Output', def: '256', slide: [4, 14], hint: 'tokens per request'},
      {key: 'batch', option: 'batch', label: 'Sequences at once', def: '32', slide: [0, 11],
        hint: 'decoded together'},
      {key: 'weights', option: 'weights', label: 'Weights', def: '', hint: 'fp8, int8, Q4_K_M; default: as stored'},
      {key: 'kv-dtype', option: 'kv-dtype', label: 'KV cache', def: '', choices: dtypes},
      {key: 'mesh', option: 'mesh', label: 'Plan', def: 'tensor=2', pairs: true, plan: true, hint: 'data=2,tensor=8'},
      {key: 'ttft', option: 'ttft', label: 'TTFT at most', def: '', hint: '500ms'},
      {key: 'tpot', option: 'tpot', label: 'TPOT at most', def: '', hint: '30ms'},
      {key: 'concurrency', option: 'concurrency', label: 'Requests in flight', def: '', more: true,
        hint: 'simulates a load'},
      {key: 'rate', option: 'rate', label: 'Requests per second', def: '', more: true, hint: 'simulates a load'},
      {key: 'cached', option: 'cached', label: 'Prefix cached', def: '', more: true, hint: '0.8, or 600 tokens'},
      {key: 'draft', option: 'draft', label: 'Drafted tokens', def: '', more: true},
      {key: 'acceptance', option: 'acceptance', label: 'Acceptance', def: '', more: true, hint: '0.8'},
      {key: 'chunk', option: 'chunk', label: 'Chunk of a prompt', def: '', more: true},
      {key: 'prefill', option: 'prefill', label: 'Prefill on', def: '', more: true, hint: 'a slice: h100-sxm:1'},
      {key: 'prefill-mesh', option: 'prefill-mesh', label: 'Prefill plan', def: '', more: true},
      {key: 'prefill-workers', option: 'prefill-workers', label: 'Prefill slices', def: '', more: true},
      {key: 'decode-workers', option: 'decode-workers', label: 'Decode slices', def: '', more: true},
      {key: 'price', option: 'price', label: 'USD per chip-hour', def: '', more: true},
      {key: 'disaggregated', option: 'disaggregated', label: 'Prefill on slices of its own', flag: true, def: false,
        more: true},
      set, software,
      {key: 'for', option: 'for', label: 'Best is', def: '', only: 'search', choices: ['throughput', 'cost']},
      {key: 'percentile', option: 'percentile', label: 'Targets hold for', def: '', only: 'search',
        choices: ['99', '90', '50', 'mean']},
      {key: 'without', option: 'without', label: 'Without', def: '', only: 'search', hint: 'pipeline'},
    ],
  },
  profile: {
    label: 'Profile', command: ['hlo'], python: 'hlo',
    fields: [
      {key: 'file', positional: true, label: 'File', def: ''},
      {key: 'kind', page: true, def: ''},
      {key: 'trace', option: 'trace', label: 'Measured by the profile', def: '', file: true},
      on(['h100-sxm:8']),
      {key: 'mesh', option: 'mesh', label: 'Mesh', def: '', pairs: true, more: true,
        hint: 'axes over which a module that is not partitioned yet is laid out'},
      {key: 'loops', option: 'loops', label: 'Loops', def: '', more: true, hint: 'NAME=COUNT'},
      set,
      {key: 'plot', page: true, def: 'roofline'},
    ],
  },
};

/// Where a field of a view is stored: views may share one.
export const place = (view, field) => field.shared ?? `${view}.${field.key}`;

export const fieldOf = (view, key) => views[view].fields.find((field) => field.key === key);

/// All stored fields by place.
export const places = new Map(Object.entries(views).flatMap(([view, {fields}]) =>
  fields.map((field) => [place(view, field), field])));

export const defaults = () => Object.fromEntries([...places].map(([where, field]) =>
  [where, Array.isArray(field.def) ? [...field.def] : field.def]));

/// The words of the command line for a view. `search` asks for its search instead; `leave` names fields to leave out,
/// and `extra` holds words at the end.
export function words(view, state, {search = false, leave = [], extra = [], command = null} = {}) {
  const spec = views[view];
  const said = [...(command ?? (search ? spec.search.command : spec.command))];
  for (const field of spec.fields) {
    const value = state[place(view, field)];
    if (field.page || leave.includes(field.key) || (field.only === 'search' && !search)) continue;
    if (search && (spec.search.without.includes(field.key) || field.plan)) continue;
    if (field.positional) {
      said.push(value);
    } else if (field.many) {
      for (const each of value) if (each.trim()) said.push(`--${field.option}`, each.trim());
    } else if (field.flag) {
      if (value) said.push(`--${field.option}`);
    } else if (value.trim()) {
      said.push(`--${field.option}`, value.trim());
    }
  }
  return [...said, ...extra];
}

/// Words as a shell wants them.
export function commandLine(list) {
  const quoted = list.map((word) => (/^[A-Za-z0-9_@%+=:,./-]+$/.test(word)
    ? word : `'${word.replaceAll('\'', '\'\\\'\'')}'`));
  return ['roofline', ...quoted].join(' ');
}

/// The same question in Python, made from the words of the command line.
export function python(list, name) {
  const rest = list.slice(name.includes('.') ? 2 : 1);
  const given = new Map();
  const positional = [];
  const flags = new Set([...places.values()].filter((field) => field.flag).map((field) => field.option ?? field.key));
  for (let at = 0; at < rest.length; ++at) {
    if (!rest[at].startsWith('--')) {
      positional.push(JSON.stringify(rest[at]));
      continue;
    }
    const option = rest[at].slice(2);
    if (flags.has(option)) given.set(option, ['True']);
    else given.set(option, [...(given.get(option) ?? []), JSON.stringify(rest[++at] ?? '')]);
  }
  const named = [...given].map(([option, values]) =>
    `${option.replaceAll('-', '_')}=${values.length === 1 ? values[0] : `[${values.join(', ')}]`}`);
  return `import roofline as rl\n\nanswer = rl.${name}(${[...positional, ...named].join(', ')})\nprint(answer)\n`;
}
