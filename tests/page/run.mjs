// Runs the tests of the page with node's test runner. Prints what failed, then 'N passed, N failed, N skipped'.
// usage: node tests/page/run.mjs [FILE ...]
import {readdirSync} from 'node:fs';
import {join} from 'node:path';
import {run} from 'node:test';
import {fileURLToPath} from 'node:url';

const folder = fileURLToPath(new URL('.', import.meta.url));
const all = readdirSync(folder).filter((name) => name.endsWith('.test.mjs')).map((name) => join(folder, name));
const files = process.argv.length > 2 ? process.argv.slice(2) : all.sort();
const counts = {passed: 0, failed: 0, skipped: 0};

/** Whether the test is a file, which fails with its tests. */
const isFile = (test) => files.some((file) => test.name === file || file.endsWith(test.name));

for await (const {type, data} of run({files, concurrency: 1})) {
  if (type === 'test:pass' && !isFile(data)) {
    ++counts[data.skip === undefined ? 'passed' : 'skipped'];
  } else if (type === 'test:fail' && !(isFile(data) && data.details.error?.failureType === 'subtestsFailed')) {
    ++counts.failed;
    const {error} = data.details;
    console.log(`  FAILED: ${data.name}\n${error?.cause?.message ?? error?.message ?? error}`);
  } else if (type === 'test:diagnostic' && /^(?:size|time|note) /.test(data.message)) {
    console.log(`  ${data.message}`);
  }
}
console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
process.exitCode = counts.failed > 0 || counts.passed === 0 ? 1 : 0;
