import { CatalogueEditor, CredentialEditor, CredentialStore } from '#product/catalogue';
import { startTestApp, type TestApp } from '../../support/app';
import { until } from '../../support/until';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

test('the running service applies new, changed and disabled secrets', async () => {
  const [catalogue, editor, store] = [CatalogueEditor, CredentialEditor, CredentialStore].map((type) =>
    app.application.get<unknown>(type),
  ) as [CatalogueEditor, CredentialEditor, CredentialStore];
  const { id: providerId } = await app.database.transaction((tx) =>
    catalogue.upsertProvider(tx, { name: 'far', style: 'openai-style', baseUrl: 'https://far.example/v1' }),
  );
  const put = (secret: string) =>
    app.database.transaction((tx) => editor.put(tx, { providerId, label: 'key', kind: 'bearer', secret }));
  const hasToken = (token: string | undefined) => () => {
    const credential = store.resolve(providerId);
    return (credential?.kind === 'bearer' ? credential.token : undefined) === token;
  };
  const { id } = await put('sk-canary-first');
  await until(hasToken('sk-canary-first'));
  await put('sk-canary-second');
  await until(hasToken('sk-canary-second'));
  await app.database.transaction((tx) => editor.disable(tx, id));
  await until(hasToken(undefined));
  expect(app.log.join('\n')).not.toContain('canary');
});

test('the running service refuses a provider with a private address', async () => {
  const catalogue = app.application.get(CatalogueEditor);
  const privateProvider = { name: 'inside', style: 'openai-style', baseUrl: 'https://192.168.0.1' };
  await expect(
    app.database.transaction((tx) => catalogue.upsertProvider(tx, privateProvider)),
  ).rejects.toMatchObject({
    code: 'invalid_provider',
  });
});
