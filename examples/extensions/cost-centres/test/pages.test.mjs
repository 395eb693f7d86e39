import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import request from 'supertest';
// Imported first, because it provides the decorators of the classes below.
import { createTestHost } from '@switchboard/extension/testing';

const { default: extension } = await import('../dist/index.js');
const statements = [];
const rows = [{ id: 1, kind: 'project', number: 7, cost_centre: 'K-100', requests: 3, cost_usd: '0.25' }];
const query = (sql, values) => {
  statements.push({ sql, values });
  return Promise.resolve(rows);
};
const host = await createTestHost(extension.default ?? extension, {
  ports: { db: { query, transaction: (work) => work({ query }) } },
});
after(() => host.close());

const administrator = {
  role: 'org_admin',
  organisationId: 5,
  scope: { kind: 'organisation', organisationId: 5 },
};

test('the page shows the assignments of the reader’s organisation', async () => {
  const { body } = await request(host.server)
    .get('/x/cost-centres')
    .set(host.signedIn(administrator))
    .expect(200);
  assert.equal(body.view, 'list');
  assert.equal(body.model.assignments[0].cost_centre, 'K-100');
  assert.ok(statements.at(-1).values.includes(5));
});

test('a person without the role is refused', async () => {
  await request(host.server).get('/x/cost-centres').set(host.signedIn()).expect(403);
});

test('a cost centre that does not match the pattern is refused', async () => {
  const form = { kind: 'project', number: 7, cost_centre: 'not valid' };
  const { body } = await request(host.server)
    .post('/x/cost-centres/assignments')
    .set(host.signedIn(administrator))
    .send(form)
    .expect(422);
  assert.deepEqual(body.detail[0].loc, ['body', 'cost_centre']);
});
