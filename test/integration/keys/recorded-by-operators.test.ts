import { type ActivityEntry, ActivityQuery } from '#product/audit';
import { executeCommand } from '#inside/commands/run-command';
import { startTestApp, type TestApp } from '../../support/app';
import { addKey, addUser } from '../../support/users';

let app: TestApp;
let rootKey: { text: string; publicId: string };
beforeAll(async () => {
  app = await startTestApp();
  await addUser(app, 'platform_owner');
  rootKey = await addKey(app, null, { kind: 'root' });
});
afterAll(() => app.close());

const manage = async (method: string, path: string, body?: object): Promise<Record<string, unknown>> => {
  const answer = await fetch(`${app.url}/v1/manage/keys${path}`, {
    method,
    headers: { authorization: `Bearer ${rootKey.text}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Record<string, unknown>;
};

const runCommand = async (...words: string[]): Promise<string> => {
  let output = '';
  let errorOutput = '';
  const code = await executeCommand(words, {
    environment: { ...app.environment },
    write: (text) => (output += text),
    writeStderr: (text) => (errorOutput += text),
    confirm: () => Promise.resolve(true),
  });
  expect([code, errorOutput]).toEqual([0, expect.any(String)]);
  return output.trim();
};

const entriesOf = async (id: string): Promise<ActivityEntry[]> => {
  const query = app.application.get(ActivityQuery, { strict: false });
  const { rows } = await query.page({ kind: 'platform' }, { object: { type: 'key', id }, limit: 20 });
  return [...rows].reverse();
};

test('changes with the root key are logged with actor, address and values, without secrets', async () => {
  const createdKey = await manage('POST', '', { name: 'by root', rate_limit_rpm: 5 });
  const id = String(createdKey['id']);
  await manage('PATCH', `/${id}`, { rate_limit_rpm: 7 });
  await manage('PATCH', `/${id}`, { rate_limit_rpm: 7 });
  await manage('PATCH', `/${id}`, { status: 'disabled' });
  const rotatedKey = await manage('POST', `/${id}/rotate`, {});
  await manage('DELETE', `/${id}`);
  const entries = await entriesOf(id);
  expect(entries.map(({ action }) => action)).toEqual([
    'key.created',
    'key.changed',
    'key.disabled',
    'key.rotated',
    'key.revoked',
  ]);
  for (const { actor, address, requestId, object } of entries) {
    expect(actor).toMatchObject({ kind: 'key', label: expect.stringContaining(rootKey.publicId) });
    expect([address, object.label]).toEqual(['127.0.0.1', 'by root']);
    expect(requestId).toMatch(/^[0-9a-f-]{36}$/);
  }
  expect(entries[1]?.changes).toEqual({ rate_limit_rpm: [5, 7] });
  const text = JSON.stringify(entries);
  for (const { key } of [createdKey, rotatedKey] as { key?: string }[])
    expect(text).not.toContain(String(key));
});

test('changes at the command line are logged', async () => {
  const id = (await runCommand('key', 'create', '--name', 'by command')).slice(4, 12);
  await runCommand('key', 'change', id, '--rpm', '9');
  await runCommand('key', 'rotate', id);
  await runCommand('key', 'revoke', id);
  const entries = await entriesOf(id);
  expect(entries.map(({ action }) => action)).toEqual([
    'key.created',
    'key.changed',
    'key.rotated',
    'key.revoked',
  ]);
  for (const { actor } of entries) expect(actor).toMatchObject({ kind: 'system', label: 'command line' });
  expect(entries[1]?.changes).toEqual({ rate_limit_rpm: [null, 9] });
  await runCommand('root-key', 'rotate', '--id', rootKey.publicId, '--grace', '1h');
  expect((await entriesOf(rootKey.publicId)).map(({ action }) => action)).toEqual(['key.rotated']);
});
