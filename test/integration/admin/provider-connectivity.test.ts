import { CatalogueService } from '#product/catalogue';
import { ScriptedSupplier } from '../../support/scripted-supplier';
import { AdminHouse, chatAnswer } from './admin-fixture';

let serviceFixture: AdminHouse;
let supplier: ScriptedSupplier;

const SECRET = 'sk-very-secret-0123456789';

beforeAll(async () => {
  serviceFixture = await AdminHouse.open({ environment: { SUPPLIER_ALLOW: '127.0.0.1' } });
  supplier = await ScriptedSupplier.start();
  supplier.answer = { body: chatAnswer };
});
afterAll(async () => {
  await serviceFixture.close();
  await supplier.stop();
});

const reloadCatalogue = () => serviceFixture.app.application.get(CatalogueService).reload();

describe('The connectivity test', () => {
  const probe = (extraFields: object) =>
    serviceFixture.admin.post('/dashboard/admin/providers/test', {
      upstream_model: 'their-model',
      ...extraFields,
    });
  const probeWithSecret = (more: object = {}) =>
    probe({ style: 'openai-style', base_url: `${supplier.url}/v1`, secret: 'typed-secret-1234', ...more });

  test('reports the error and the duration', async () => {
    supplier.answer = { body: chatAnswer };
    expect((await probeWithSecret()).json).toMatchObject({ ok: true, failure: null, status: 200 });
    supplier.answer = { status: 401, body: { error: { message: 'no typed-secret-1234' } } };
    const refusal = await probeWithSecret();
    expect(refusal.json).toMatchObject({ ok: false, failure: 'credentials', status: 401 });
    expect(JSON.stringify(refusal.json)).not.toContain('typed-secret-1234');
    supplier.answer = { status: 404, body: { error: { message: 'no such model' } } };
    expect((await probeWithSecret()).json).toMatchObject({ failure: 'model' });
    supplier.answer = { status: 429, body: {} };
    expect((await probeWithSecret()).json).toMatchObject({ failure: 'limited' });
    supplier.answer = { body: { hello: 'world' } };
    expect((await probeWithSecret()).json).toMatchObject({ failure: 'shape', status: 200 });
    supplier.answer = { body: '<html>' };
    expect((await probeWithSecret()).json).toMatchObject({ failure: 'shape' });
    supplier.answer = { status: 302, headers: { location: 'http://127.0.0.1/' }, body: '' };
    expect((await probeWithSecret()).json).toMatchObject({ failure: 'shape', status: 302 });
    expect((await probeWithSecret({ base_url: 'http://127.0.0.1:9/v1' })).json).toMatchObject({
      failure: 'refused',
    });
    expect((await probeWithSecret({ base_url: supplier.url.replace('http:', 'https:') })).json).toMatchObject(
      {
        failure: 'tls',
      },
    );
    expect((await probeWithSecret({ base_url: 'https://no-such-host.invalid/v1' })).json).toMatchObject({
      failure: 'dns',
    });
    supplier.answer = { body: chatAnswer };
  });

  test('does not reach internal addresses', async () => {
    const requestsBefore = supplier.requests.length;
    for (const base of [
      'http://169.254.169.254/latest',
      'https://10.0.0.1/v1',
      'https://[::1]/v1',
      'https://0x7f.1/v1',
      'https://user:pass@example.com/v1',
    ]) {
      expect((await probeWithSecret({ base_url: base })).json).toMatchObject({
        ok: false,
        failure: 'address',
        status: null,
      });
      const createResponse = await serviceFixture.admin.post('/dashboard/admin/providers', {
        name: 'x',
        style: 'openai-style',
        base_url: base,
      });
      expect(createResponse.json).toMatchObject({ code: 'invalid_provider' });
    }
    expect(supplier.requests).toHaveLength(requestsBefore);
  });

  test('sends a stored secret only to its own host and deletes it when the host changes', async () => {
    await serviceFixture.admin.post('/dashboard/admin/providers', {
      name: 'moving',
      style: 'openai-style',
      base_url: `${supplier.url}/v1`,
      secret: SECRET,
    });
    const rows = await serviceFixture.app.database.query<{ id: number }>(
      `SELECT id FROM provider WHERE name = 'moving'`,
    );
    const id = rows[0]?.id ?? 0;
    await reloadCatalogue();
    expect((await probe({ provider_id: id })).json).toMatchObject({ ok: true });
    expect(supplier.requests.at(-1)?.headers.authorization).toBe(`Bearer ${SECRET}`);
    const otherSupplier = await ScriptedSupplier.start();
    const otherHostProbe = await probe({ provider_id: id, base_url: `${otherSupplier.url}/v1` });
    expect(otherHostProbe.json).toMatchObject({ ok: false, failure: 'configuration' });
    expect(otherSupplier.requests).toEqual([]);
    const updateResponse = await serviceFixture.admin.post(`/dashboard/admin/providers/${id}/update`, {
      base_url: `${otherSupplier.url}/v1`,
    });
    expect(updateResponse.json).toMatchObject({ secrets: [], cleared_secrets: ['portal'] });
    await otherSupplier.stop();
  });
});
