// Names of the notation that the editor completes (docs/reference/notation.md; a test compares them), and what each
// printed number means (docs/reference/numbers.md).

export const dtypes = `f64 f32 tf32 bf16 f16 fp8 fp8_e4m3 fp8_e5m2 mxfp8 fp6 fp4 nvfp4 mxfp4 int64 int32 int16 int8 int4
  bool q4_0 q4_1 q5_0 q5_1 q8_0 q2_k q3_k q4_k q5_k q6_k iq1_s iq1_m iq2_xxs iq2_xs iq2_s iq3_xxs iq3_s iq4_nl iq4_xs
  tq1_0 tq2_0`.split(/\s+/);

export const functions = `add sub mul div neg abs square maximum minimum where relu relu2 exp log sqrt rsqrt sin cos
  tanh erf sigmoid softplus silu gelu rope convert step tan atan2 cbrt pow expm1 log1p round
  mod sign clamp compare bits bits2 dsigmoid dsilu dgelu unrope sum max min prod mean
  logsumexp softmax norm layernorm scan dsoftmax dnorm dlayernorm dscan prior causal gather
  scatter dispatch combine conv dconv resume leave windows view slice copy transpose reverse pad concat
  iota received opaque custom unknown update expand scatteradd spread collect match taps
  all_gather reduce_scatter all_reduce all_to_all permute broadcast`.split(/\s+/);

export const keywords = 'param frozen cache mesh fuse repeat part option role when else using in at'.split(' ');

export const meanings = {
  flops: 'FLOPs: 2 for every point of a matmul, otherwise what the table of functions says. Integer operations count '
    + 'the same.',
  flops_by: 'FLOPs by the unit and the dtype of the rate that they run at.',
  bytes: 'Bytes that cross the boundary of this memory at least once: inputs read once, results written '
    + 'once per kernel.',
  traffic_bytes: 'Bytes that one chip sends over this network tier.',
  transcendentals: 'exp, log, tanh and the like: counted, not priced.',
  intensity: 'FLOPs over the bytes of one memory level.',
  ridge: 'Rate of the dtype with the most FLOPs over the bandwidth of the level: below it an operation is '
    + 'memory-bound.',
  time_s: 'Work over the rate of this resource.',
  lower_s: 'Lower bound: the longest of the times. Nothing that does this work at published rates is faster.',
  sequential_s: 'Sum over kernels of the lower bound of each: kernels wait for one another.',
  exposed_s: 'The sequential time with the collectives of each kernel not overlapped with its work.',
  expected_s: 'A prediction by models that were fitted to measurements; empty where a part is not calibrated.',
  expected_error: 'Mean error of the models used, on measurements that they were not fitted to.',
  upper_s: 'No-overlap time: the sum of the times of all resources, at published rates.',
  peak_fraction: 'Compute time over the lower bound.',
  energy_j: 'Rated power times the lower bound; neither a measurement nor a bound.',
  critical: 'Size of this dimension at which compute time equals the time of this level, with the others at their '
    + 'sizes; the limit is that for large other sizes.',
  tensor_bytes: 'Bytes of this tensor that one chip holds.',
  collective: 'Lower bound of one such collective, and its expected time where its network is calibrated.',
  collective_bytes: 'Bytes of the whole array of one group, as nccl-tests count.',
  params: 'All stored parameters, biases and norms included; tied tables count once.',
  params_active: 'Parameters that one token uses, with the experts that it is sent to.',
  params_by: 'Parameters of this part of the model.',
  flops_per_token: 'Model FLOPs per token: 2 per parameter that multiplies forward, 6 in training; attention is '
    + 'counted separately, averaged over the sequence, with half of the scores for causal attention.',
  kv_bytes: 'Keys and values, or the latent of multi-head latent attention; per token, while every window has room.',
  state_bytes: 'Memory that does not grow with the sequence: states of recurrences, last inputs of convolutions.',
  weight_bytes: 'Bytes of all parameters with their scales.',
  activation_bytes: 'Stored per token by the forward pass for the backward pass: everything, results of matmuls '
    + 'only, or the residual stream only.',
  overtakes: 'Sequence length at which the FLOPs of attention reach those of MLP, experts and router.',
  memory_bytes: 'Memory of one chip at its peak: parameters, gradients, optimizer states, activations kept for the '
    + 'backward pass, and all else that is alive at that moment.',
  serve_memory: 'Memory of one chip, with padding and copies: weights with scales, KV cache of prompt and output, peak '
    + 'activations of either phase.',
  mfu: 'Model FLOPs over the bf16 peak of all chips in the step time.',
  tokens_per_s: 'Tokens over the step time: the expected one, or the lower bound where nothing is calibrated.',
  run: 'For all tokens of the run, without interruptions.',
  bubble: 'Share of the pipeline bubble of the longest stage.',
  thresholds: 'The value from which collectives of weights overlap completely with matmuls.',
  ttft_s: 'Prefill of one prompt with the slice to itself.',
  tpot_s: 'A decode iteration: expected, or sequential where nothing is calibrated.',
  tpot_lower_s: 'The same for lower bounds.',
  serve_tokens: 'Sequences over TPOT, while only decoding.',
  usd_per_million_tokens: 'Price of the slice over tokens/s.',
  max_batch: 'Largest number of sequences that the memory of a chip holds under this plan.',
  under_load: 'A server under load: TTFT with queueing, TPOT with prefills in between.',
  frontier: 'An iteration at powers of two up to the largest batch; the knee has the most tokens/s per TPOT.',
  compute_bound_batch: 'Batch from which weight matmuls, or a whole iteration, are compute-bound.',
  elasticity: 'Change in % of the result per 1 % more of this figure.',
  measured_s: 'As the profile measured it, in an average step.',
  win_s: 'Measured minus expected time.',
  memory_peak: 'Peak of arrays that live at once, arguments included, in the order of the instructions.',
  figure: 'A figure of the machine, with where it was published or measured.',
};
