import type { Findings } from '../../../test/system/findings';
import type { Testbed } from '../testbed';
import type { WayOut } from '../ways/way';
import type { Canary } from './canary';

const file = (baseUrl: string, key: string, way: WayOut): string => `version: 1
providers:
  moving:
    style: openai-style
    base_url: ${baseUrl}
    regions: [local]
    settings: ${JSON.stringify(way.settings())}
${key}
models:
  moving: { max_output_tokens: 100, lanes: [{ provider: moving, model: sim-small, region: local }], price: { input: 1, output: 1 } }
`;

/** Another host, as it is reached. */
interface Elsewhere {
  readonly canary: Canary;
  readonly origin: string;
  readonly way: WayOut;
}

/** A stored secret goes to the host it was entered for; moving the provider takes knowing it. */
export async function proveMovedProvider(
  findings: Findings,
  testbed: Testbed,
  { canary: elsewhere, origin, way }: Elsewhere,
): Promise<void> {
  const apply = async (yaml: string): Promise<void> => {
    const { code, text } = await testbed.apply(yaml);
    if (code !== 0) throw new Error(`gateway.yaml was not applied: ${text}`);
  };
  const ask = async (): Promise<{ status: number; text: string }> => {
    const answer = await fetch(`${testbed.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${testbed.keys.demo}`, 'content-type': 'application/json' },
      body: JSON.stringify({
        model: 'moving',
        max_tokens: 5,
        messages: [{ role: 'user', content: 'Hello' }],
      }),
    });
    return { status: answer.status, text: await answer.text() };
  };
  const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1_500));

  await apply(file(`${testbed.supplierUrl}/v1`, '    api_key: ${SUPPLIER_KEY}', way));
  await testbed.waitForModel('moving');
  const before = await ask();
  findings.add('with the key it was given, a provider answers', before.status === 200, String(before.status));

  const other = `${origin}/v1`;
  await apply(file(other, '', way));
  await settled();
  const moved = await ask();
  const kept = elsewhere.requests.length === 0 && moved.text.includes('configuration_error');
  findings.add('moved to another host, it is not called with the stored key', kept, moved.text.slice(0, 120));

  await apply(file(other, '    api_key: ${SUPPLIER_KEY}', way));
  await settled();
  const again = await ask();
  const [request] = elsewhere.requests;
  const entered = request?.headers.authorization === 'Bearer sim-key-of-the-proof';
  findings.add(
    'entered again, the key goes to the new host',
    entered,
    `${elsewhere.requests.length} requests, ${again.text.slice(0, 200)}`,
  );
}
