import { readRows } from '../../../../src/platform/database';

const answering = (answer: unknown) => ({ query: () => Promise.resolve(answer) });
const found = [
  { id: 1, created_at: 'then', position0: '1', settings: { top_p: 1 } },
  { id: 2, created_at: null, position0: '2', settings: null },
];
const read = [
  { id: 1, createdAt: 'then', position0: '1', settings: { top_p: 1 } },
  { id: 2, createdAt: null, position0: '2', settings: null },
];

test('columns of rows are named as code names them; what lies in them stays as it is', async () => {
  await expect(readRows(answering(found), 'SELECT')).resolves.toEqual(read);
});

test('the same of rows that a change returns, which come with their number', async () => {
  await expect(readRows(answering([found, 2]), 'UPDATE')).resolves.toEqual(read);
  await expect(readRows(answering([[], 0]), 'UPDATE')).resolves.toEqual([]);
});

test('no rows are none', async () => {
  await expect(readRows(answering([]), 'SELECT')).resolves.toEqual([]);
});
