// Numbers with units as people read them, with three digits; the exact value is shown on demand.

const bigger = ['', 'k', 'M', 'G', 'T', 'P', 'E', 'Z'];

function digits(value) {
  const size = Math.abs(value);
  if (size >= 999.5) return String(Math.round(value));
  return String(Number(value.toPrecision(3)));
}

function prefixed(value, unit) {
  let step = 0;
  while (Math.abs(value) >= 999.5 && step + 1 < bigger.length) {
    value /= 1000;
    ++step;
  }
  return `${digits(value)} ${bigger[step]}${unit}`.trim();
}

function duration(seconds) {
  const size = Math.abs(seconds);
  if (size === 0) return '0 s';
  for (const [limit, unit] of [[1e-9, 'ps'], [1e-6, 'ns'], [1e-3, 'us'], [1, 'ms']]) {
    if (size < limit * 0.9995) return `${digits(seconds / (limit / 1000))} ${unit}`;
  }
  if (size < 120) return `${digits(seconds)} s`;
  if (size < 7200) return `${digits(seconds / 60)} min`;
  if (size < 2 * 86400) return `${digits(seconds / 3600)} h`;
  return `${digits(seconds / 86400)} days`;
}

/// `value` in `unit`: 's', 'B', 'FLOP/s', 'fraction', 'count' and so on; a null is a dash.
export function shown(value, unit = '') {
  if (value === null || value === undefined) return '–';
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (typeof value !== 'number') return String(value);
  if (unit === 's') return duration(value);
  if (unit === 'fraction') return `${Number((value * 100).toPrecision(Math.abs(value) < 0.1 ? 2 : 3))} %`;
  if (unit === 'USD') return `$${Math.abs(value) < 1000 ? digits(value) : prefixed(value, '')}`;
  if (unit === 'count') {
    return Number.isInteger(value) && Math.abs(value) < 1e6 ? value.toLocaleString('en-US') : prefixed(value, '');
  }
  if (unit === 'number') return Number.isInteger(value) ? value.toLocaleString('en-US') : String(digits(value));
  if (unit === 'FLOP/B') return `${digits(value)} FLOP/B`;
  return prefixed(value, unit);
}

/// The value as the program printed it, with its unit.
export function exact(value, unit = '') {
  if (value === null || value === undefined) return 'not known';
  if (typeof value !== 'number') return String(value);
  const names = {fraction: '(a fraction)', count: '', number: '', s: 's'};
  const text = value !== 0 && Math.abs(value) < 1e-3 ? value.toExponential() : String(value);
  return `${text} ${unit in names ? names[unit] : unit}`.trim();
}

const known = {math: 'math', vector: 'vector', hbm: 'HBM', vmem: 'VMEM', smem: 'SMEM', l1: 'L1', l2: 'L2',
  pcie: 'PCIe',
  ici: 'ICI', nvlink: 'NVLink', ib: 'InfiniBand', dcn: 'DCN', nic: 'NIC'};

/// What a resource is called: matrix units, memory levels, network tiers.
export function resource(key) {
  return String(key).split('+').map((part) => known[part] ?? part).join('+');
}

/// What bounds an answer, in words.
export function boundWords(key) {
  return ['math', 'vector'].includes(key) ? `Compute-bound (${key})` : `${resource(key)}-bound`;
}
