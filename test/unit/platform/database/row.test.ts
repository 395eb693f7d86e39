import { readRows, type TableRow } from '../../../../src/platform/database';

const sourceReturning = (answer: unknown) => ({ query: () => Promise.resolve(answer) });
const databaseRows = [
  { id: 1, created_at: 'then', position0: '1', settings: { top_p: 1 } },
  { id: 2, created_at: null, position0: '2', settings: null },
];
const expectedRows = [
  { id: 1, createdAt: 'then', position0: '1', settings: { top_p: 1 } },
  { id: 2, createdAt: null, position0: '2', settings: null },
];

test('column names become property names, and their values stay unchanged', async () => {
  await expect(readRows(sourceReturning(databaseRows), 'SELECT')).resolves.toEqual(expectedRows);
});

test('rows returned by a change, which come with a count, are mapped the same', async () => {
  await expect(readRows(sourceReturning([databaseRows, 2]), 'UPDATE')).resolves.toEqual(expectedRows);
  await expect(readRows(sourceReturning([[], 0]), 'UPDATE')).resolves.toEqual([]);
});

test('empty result yields no rows', async () => {
  await expect(readRows(sourceReturning([]), 'SELECT')).resolves.toEqual([]);
});

test('column list determines the types, and an unknown column does not compile', () => {
  const project: TableRow<'project', 'p.id, p.archived_at'> = { id: 1, archivedAt: null };
  // @ts-expect-error There is no such column.
  const misspelt: TableRow<'project', 'p.id, p.archived'> = { id: 1, archived: null };
  // @ts-expect-error The column is never null.
  const nullable: TableRow<'project', 'id'> = { id: null };
  expect([project, misspelt, nullable]).toHaveLength(3);
});
