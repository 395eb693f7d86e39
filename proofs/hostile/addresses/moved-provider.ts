import type { Findings } from '../../../test/system/findings';
import type { HostileTestbed } from '../testbed';
import type { EgressTestRoute } from '../ways/egress-test-route';
import type { Canary } from './canary';

const file = (baseUrl: string, key: string, egressRoute: EgressTestRoute): string => `version: 1
providers:
  moving:
    style: openai-style
    base_url: ${baseUrl}
    regions: [local]
    settings: ${JSON.stringify(egressRoute.settings())}
${key}
models:
  moving: { max_output_tokens: 100, lanes: [{ provider: moving, model: sim-small, region: local }], price: { input: 1, output: 1 } }
`;

/** Another host and the route to it. */
interface OtherHost {
  readonly canary: Canary;
  readonly origin: string;
  readonly way: EgressTestRoute;
}

/** A stored secret is only sent to the host it was entered for; moving a provider requires entering it again. */
export async function proveMovedProvider(
  findings: Findings,
  testbed: HostileTestbed,
  { canary: elsewhere, origin, way: egressRoute }: OtherHost,
): Promise<void> {
  const apply = async (yaml: string): Promise<void> => {
    const { code, text } = await testbed.apply(yaml);
    if (code !== 0) throw new Error(`gateway.yaml was not applied: ${text}`);
  };
  const sendChat = async (): Promise<{ status: number; text: string }> => {
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
  const waitUntilSettled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 1_500));

  await apply(file(`${testbed.supplierUrl}/v1`, '    api_key: ${SUPPLIER_KEY}', egressRoute));
  await testbed.waitForModel('moving');
  const beforeMove = await sendChat();
  findings.add(
    'with the key it was given, a provider answers',
    beforeMove.status === 200,
    String(beforeMove.status),
  );

  const otherUrl = `${origin}/v1`;
  await apply(file(otherUrl, '', egressRoute));
  await waitUntilSettled();
  const afterMove = await sendChat();
  const isSecretKept = elsewhere.requests.length === 0 && afterMove.text.includes('configuration_error');
  findings.add(
    'moved to another host, it is not called with the stored key',
    isSecretKept,
    afterMove.text.slice(0, 120),
  );

  await apply(file(otherUrl, '    api_key: ${SUPPLIER_KEY}', egressRoute));
  await waitUntilSettled();
  const afterEntry = await sendChat();
  const [request] = elsewhere.requests;
  const hasEnteredSecret = request?.headers.authorization === 'Bearer sim-key-of-the-proof';
  findings.add(
    'entered again, the key goes to the new host',
    hasEnteredSecret,
    `${elsewhere.requests.length} requests, ${afterEntry.text.slice(0, 200)}`,
  );
}
