import { EmbeddedPostgresFailure, explainFailure } from '../../../../src/platform/database/embedded/failure';

test.each([
  [
    'FATAL:  could not write to file "pg_wal/xlogtemp.7": No space left on device',
    'The disk that holds /data is full',
  ],
  ['FATAL:  could not extend file "base/1/2691": wrote only 4096\nHINT:  Check free disk space.', 'is full'],
  ["ENOENT: no such file or directory, mkdir '/data/postgres'", '/data cannot be created or written'],
  ["EROFS: read-only file system, open '/data/postgres/owner.json'", '/data cannot be created or written'],
  ["EACCES: permission denied, mkdir '/data/postgres'", 'may not use /data: permission denied'],
  ['FATAL:  database files are incompatible with server', 'written by another major version'],
])('explains %s', (errorText, explanation) => {
  const failure = explainFailure(new Error(errorText), '/data');
  expect(failure.message).toContain(explanation);
  expect(failure.message).toContain('DATABASE_URL');
});

test('unknown failure is passed on with the data folder', () => {
  expect(explainFailure(new Error('odd'), '/data').message).toBe(
    'The embedded PostgreSQL in /data did not start: odd',
  );
});

test('explained failure is unchanged', () => {
  const failure = new EmbeddedPostgresFailure('explained');
  expect(explainFailure(failure, '/data')).toBe(failure);
});
