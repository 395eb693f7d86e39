import { join } from 'node:path';
import { runChild } from '../../support/child';

/** How the last collections of all of the heap were done. */
async function lastCollections(manner: 'busy' | 'at rest'): Promise<string[]> {
  const child = runChild(join(__dirname, 'collecting-process.ts'), [manner]);
  let printed = '';
  child.process.stdout?.on('data', (text: Buffer) => (printed += text.toString()));
  expect(await child.ended).toEqual({ code: 0, complaint: '' });
  const ways = [...printed.matchAll(/Mark-Compact( \(reduce\))?/g)].map(([, way]) =>
    way === undefined ? 'keeps what it knows' : 'minds memory',
  );
  return ways.slice(-2);
}

test('a collection at rest keeps what compiled code relies on', async () => {
  expect(await lastCollections('at rest')).toEqual(['keeps what it knows', 'keeps what it knows']);
});

test('a collection at full work minds memory', async () => {
  expect(await lastCollections('busy')).toEqual(['minds memory', 'minds memory']);
});
