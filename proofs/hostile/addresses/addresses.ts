import { catalogue, type ErrorCode } from '#product/kernel';
import { steeringFields } from '#inside/routing/suppliers/kit/steering';
import type { Findings } from '../../../test/system/findings';
import { inParallel } from '../../../test/system/findings';
import { gatewayFile, HostileTestbed } from '../testbed';
import { expectNone } from '../offenders';
import type { EgressTestRoute } from '../ways/egress-test-route';
import { Canary } from './canary';
import { proveMovedProvider } from './moved-provider';
import { connectable, refusedTexts } from './payloads';
import { proveRebinding } from './rebinding';
import { stockModels } from './stocked-models';

/** SSRF: every field that takes an address reaches the named supplier and nothing on the internal network. */
export async function proveAddresses(findings: Findings, egressRoute: EgressTestRoute): Promise<void> {
  const canary = await Canary.listen();
  const movedCanary = await Canary.listen();
  const movedOrigin = await egressRoute.to(movedCanary.port, 'localhost');
  const { host } = new URL(movedOrigin);
  const testbed = await HostileTestbed.open({ allow: `${host}=127.0.0.0/8,${host}=::1`, egressRoute });
  try {
    await fetch(`http://127.0.0.1:${canary.port}/here`);
    if (canary.connections !== 1) throw new Error('the canary does not count');
    canary.connections = 0;
    await proveRefusedTexts(findings, testbed, canary);
    const applied = await testbed.apply(gatewayFile(testbed.supplierUrl, undefined, egressRoute));
    if (applied.code !== 0) throw new Error(`gateway.yaml was not applied: ${applied.text}`);
    await testbed.waitForModel('guard');
    await proveRefusedConnections(findings, testbed, canary, egressRoute);
    await proveContent(findings, testbed, canary);
    await proveSteering(findings, testbed, canary);
    await proveRedirects(findings, testbed, canary);
    await proveRebinding(findings, canary, egressRoute);
    await proveMovedProvider(findings, testbed, {
      canary: movedCanary,
      origin: movedOrigin,
      way: egressRoute,
    });
    // Some spellings resolve to this public name; if it does not resolve here, the proxy decides.
    egressRoute.allowTarget('http://api.example.com:443');
    if (egressRoute.means.proxy !== 'none')
      expectNone(
        findings,
        'requests to the proxy that are for anything else',
        egressRoute.unexpectedRequests,
        egressRoute.useCount,
      );
    findings.add(
      'connections to the canary, over all of that',
      canary.connections === 0,
      String(canary.connections),
    );
  } finally {
    await testbed.close();
    await canary.stop();
    await movedCanary.stop();
  }
}

/** In a file, as the base URL of a provider and as its token URL. */
async function proveRefusedTexts(findings: Findings, testbed: HostileTestbed, canary: Canary): Promise<void> {
  const texts = refusedTexts(canary.port);
  for (const command of ['plan', 'apply'] as const) {
    for (const [place, entry] of [
      [
        'base_url',
        (text: string) => `{ style: openai-style, base_url: ${text}, settings: { anonymous: true } }`,
      ],
      [
        'token_url',
        (text: string) =>
          `{ style: native-oauth, base_url: "https://api.example.com", settings: { oauth: { token_url: ${text} } } }`,
      ],
    ] as const) {
      const providerEntries = texts.map((text, at) => `  p${at}: ${entry(JSON.stringify(text))}`);
      const file = testbed.file(`version: 1\nproviders:\n${providerEntries.join('\n')}\n`);
      const { code, text } = await testbed.command([
        command,
        file,
        ...(command === 'apply' ? ['--yes'] : []),
      ]);
      const acceptedTexts = texts.filter(
        (_text, at) => !new RegExp(`providers\\.p${at}\\..*${place}`).test(text),
      );
      expectNone(findings, `addresses that ${command} lets through as ${place}`, acceptedTexts, texts.length);
      findings.add(`${command} with such a ${place} ends with 1`, code === 1, String(code));
    }
  }
  const rows = await (await testbed.database()).query('SELECT name FROM provider');
  findings.add('and nothing of it is stored', rows.length === 0, `${rows.length} providers`);
}

/** The gateway checks an address again before it connects, even if the catalogue already contains it. */
async function proveRefusedConnections(
  findings: Findings,
  testbed: HostileTestbed,
  canary: Canary,
  egressRoute: EgressTestRoute,
): Promise<void> {
  const addresses = connectable(canary.port);
  const models = await stockModels(await testbed.database(), addresses, egressRoute);
  await testbed.waitForModel(models.at(-1)?.name ?? '');
  const unexpected: string[] = [];
  await inParallel(8, models, async ({ name, address }) => {
    const { status, code } = await sendChat(testbed, '/v1/chat/completions', {
      model: name,
      messages: [{ role: 'user', content: 'Hello' }],
    });
    if (status < 500 || !catalogue.has(code as ErrorCode) || code === 'internal_error')
      unexpected.push(`${address}: ${status} ${code}`);
  });
  expectNone(
    findings,
    'stored addresses that are not refused when a request goes there',
    unexpected,
    addresses.length,
  );
  const { text } = await testbed.command(['doctor']);
  findings.add(
    'doctor looked at them as well',
    text.includes('is not an address of the public internet'),
    '',
  );
  findings.add('connections to the canary', canary.connections === 0, String(canary.connections));
}

async function proveRedirects(findings: Findings, testbed: HostileTestbed, canary: Canary): Promise<void> {
  await testbed.control('DELETE', '/requests');
  const unexpected: string[] = [];
  for (const status of [301, 302, 303, 307, 308]) {
    for (const stream of [false, true]) {
      const location = `http://127.0.0.1:${canary.port}/redirected`;
      await testbed.control('POST', '/faults', { fault: { kind: 'redirect', status, location } });
      const answer = await sendChat(testbed, '/v1/chat/completions', {
        // Few enough per lane that no circuit breaker opens.
        model: stream ? 'small' : 'large',
        stream,
        messages: [{ role: 'user', content: 'Hello' }],
      });
      await testbed.control('DELETE', '/faults');
      if (answer.status < 500 || answer.text.includes('/redirected'))
        unexpected.push(`${status}: ${answer.text}`);
    }
  }
  const { requests } = (await testbed.control('GET', '/requests')) as { requests: object[] };
  expectNone(
    findings,
    'redirects of a supplier that were followed or passed on',
    unexpected,
    requests.length,
  );
}

/** Addresses in prompts are for the supplier to fetch, never for the gateway. */
async function proveContent(findings: Findings, testbed: HostileTestbed, canary: Canary): Promise<void> {
  const url = `http://127.0.0.1:${canary.port}/picture.png`;
  const textPart = { type: 'text', text: 'See' };
  const unexpected: string[] = [];
  for (const model of ['small', 'large']) {
    for (const [path, body] of [
      [
        '/v1/chat/completions',
        { messages: [{ role: 'user', content: [textPart, { type: 'image_url', image_url: { url } }] }] },
      ],
      [
        '/v1/chat/completions',
        {
          messages: [
            {
              role: 'user',
              content: [textPart, { type: 'file', file: { file_data: url, filename: 'x.pdf' } }],
            },
          ],
        },
      ],
      [
        '/v1/messages',
        {
          max_tokens: 9,
          messages: [{ role: 'user', content: [textPart, { type: 'image', source: { type: 'url', url } }] }],
        },
      ],
      [
        '/v1/messages',
        {
          max_tokens: 9,
          messages: [
            { role: 'user', content: [textPart, { type: 'document', source: { type: 'url', url } }] },
          ],
        },
      ],
      ['/v1/responses', { input: [{ role: 'user', content: [{ type: 'input_image', image_url: url }] }] }],
      ['/v1/responses', { input: [{ role: 'user', content: [{ type: 'input_file', file_url: url }] }] }],
    ] as const) {
      const { status, text } = await sendChat(testbed, path, { model, ...body });
      if (status >= 500) unexpected.push(`${path} ${model}: ${status} ${text}`);
    }
  }
  expectNone(findings, 'failures over addresses in messages', unexpected, 12);
  findings.add('connections to the canary', canary.connections === 0, String(canary.connections));
}

/** Fields and headers known to redirect other gateways. */
async function proveSteering(findings: Findings, testbed: HostileTestbed, canary: Canary): Promise<void> {
  const url = `http://127.0.0.1:${canary.port}/steered`;
  await testbed.control('DELETE', '/requests');
  const leaks: string[] = [];
  for (const model of ['small', 'large']) {
    for (const field of [...steeringFields, 'x-svc-supplier', 'X-Svc-Cost-Usd'].filter(
      (name) => name !== 'region',
    )) {
      await sendChat(
        testbed,
        '/v1/chat/completions',
        { model, messages: [{ role: 'user', content: 'Hello' }], [field]: url },
        {
          'x-svc-supplier': url,
          'x-base-url': url,
          'x-forwarded-host': url,
          forwarded: `host="${url}"`,
          'openai-organization': url,
        },
      );
    }
  }
  const { requests } = (await testbed.control('GET', '/requests')) as {
    requests: { path: string; headers: object; rawBody: string }[];
  };
  for (const { headers, rawBody } of requests) {
    const seen = JSON.stringify(headers) + rawBody;
    if (seen.includes('steered')) leaks.push(seen);
  }
  expectNone(
    findings,
    'requests with steering fields or headers in them at the supplier',
    leaks,
    requests.length,
  );
  findings.add(
    'and the supplier did get them',
    requests.length > steeringFields.size,
    `${requests.length} requests`,
  );
}

interface AddressResponse {
  readonly status: number;
  readonly code: string;
  readonly text: string;
}

async function sendChat(
  testbed: HostileTestbed,
  path: string,
  body: object,
  headers: Record<string, string> = {},
): Promise<AddressResponse> {
  const answer = await fetch(testbed.url + path, {
    method: 'POST',
    headers: { authorization: `Bearer ${testbed.keys.demo}`, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  const text = await answer.text();
  const code = /"code":"(\w+)"/.exec(text)?.[1] ?? '';
  return { status: answer.status, code, text };
}
