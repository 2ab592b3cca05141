// Asks the program in a Web Worker: one question at a time, the newest of a group; those that take long are ended.

export class Superseded extends Error {}
export class Cancelled extends Error {}

/// A queue of questions before a worker. `makeWorker` starts one; `patience` is how long a question of the same group
/// may still run when a newer one waits, in milliseconds.
export class Core {
  constructor(makeWorker, {patience = 1500, busy = () => {}} = {}) {
    this.makeWorker = makeWorker;
    this.patience = patience;
    this.busy = busy;
    this.waiting = [];
    this.running = null;
    this.nextId = 1;
    this.worker = null;
  }

  /// The answer {code, out, err, written} of the program to `words`. A question that waits is dropped for a newer one
  /// of its group, and then the promise is rejected with Superseded. While a question that is not `quiet` is there, the
  /// answer is said to be busy. `watch` is told how far a search has come (core.mjs).
  ask(words, {files = {}, group = '', quiet = false, watch = () => {}} = {}) {
    if (group) {
      this.waiting = this.waiting.filter((other) => {
        if (other.group === group) other.reject(new Superseded());
        return other.group !== group;
      });
    }
    return new Promise((resolve, reject) => {
      this.waiting.push({id: this.nextId++, words, files, group, quiet, watch, resolve, reject});
      this.next();
      if (group && this.running && this.running.group === group) this.hurry(this.running);
    });
  }

  /// Ends the question that runs and those that wait, by ending the worker.
  cancel() {
    const dropped = [...(this.running ? [this.running] : []), ...this.waiting];
    this.waiting = [];
    if (this.running) this.restart();
    for (const question of dropped) question.reject(new Cancelled());
    this.busy(false);
  }

  hurry(question) {
    clearTimeout(question.timer);
    const spent = performance.now() - question.since;
    question.timer = setTimeout(() => {
      if (this.running !== question || !this.waiting.some((other) => other.group === question.group)) return;
      this.restart();
      question.reject(new Superseded());
      this.next();
    }, Math.max(0, this.patience - spent));
  }

  restart() {
    if (this.worker) this.worker.terminate();
    this.worker = null;
    this.running = null;
  }

  next() {
    if (this.running || this.waiting.length === 0) return;
    const question = this.waiting.shift();
    this.running = question;
    question.since = performance.now();
    if (!question.quiet) this.busy(true);
    try {
      if (!this.worker) this.start();
      this.worker.postMessage({id: question.id, words: question.words, files: question.files});
    } catch (error) {
      this.fail(`the program could not be started: ${error.message}`);
    }
  }

  start() {
    const worker = this.makeWorker();
    this.worker = worker;
    worker.onmessage = ({data}) => {
      const question = this.running;
      if (this.worker !== worker || !question || data.id !== question.id) return;
      if (data.searched) {
        question.watch(data.searched);
        return;
      }
      clearTimeout(question.timer);
      this.running = null;
      if (data.failed === undefined) {
        question.resolve(data.answer);
      } else {
        // A question that ended in the middle may have left the program's memory in any state: it is started anew.
        this.restart();
        question.reject(new Error(data.failed));
      }
      if (this.waiting.every(({quiet}) => quiet)) this.busy(false);
      this.next();
    };
    worker.onerror = (event) => {
      event.preventDefault?.();
      if (this.worker === worker) this.fail(event.message || 'the worker could not be loaded');
    };
  }

  fail(message) {
    const question = this.running;
    this.restart();
    this.busy(false);
    if (question) question.reject(new Error(message));
    this.next();
  }
}

/// The object that the program printed, or an error of the same form where it printed none.
export function parsed(answer) {
  try {
    return JSON.parse(answer.out);
  } catch {
    const message = (answer.err || answer.out || 'no answer').trim();
    return {error: {code: 'no_json', message, line: null, column: null, source: null, hint: ''}};
  }
}
