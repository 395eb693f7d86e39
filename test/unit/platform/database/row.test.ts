import { readRows, type TableRow } from '../../../../src/platform/database';

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

test('a list of columns has their types; one that the table does not have does not compile', () => {
  const project: TableRow<'project', 'p.id, p.archived_at'> = { id: 1, archivedAt: null };
  // @ts-expect-error There is no such column.
  const misspelt: TableRow<'project', 'p.id, p.archived'> = { id: 1, archived: null };
  // @ts-expect-error The column is never null.
  const nullable: TableRow<'project', 'id'> = { id: null };
  expect([project, misspelt, nullable]).toHaveLength(3);
});
