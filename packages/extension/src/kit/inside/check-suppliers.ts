import type { ServiceResponse, ServiceProcess } from './service-process';
import { type KitCheck, type Kit, Skipped, skippedUnless } from './kit';
import type { SupplierStyleSummary } from './meddle';
import { StandIn } from './stand-in';

const MARK = '(kit 4711)';
const NANO_PER_INPUT_TOKEN = 1_000n;
const NANO_PER_OUTPUT_TOKEN = 2_000n;

interface ReportedUsage {
  readonly prompt_tokens?: number;
  readonly completion_tokens?: number;
}

const secretOf = ({ credential }: SupplierStyleSummary): object => {
  const secret = '${SUPPLIER_KEY}';
  switch (credential) {
    case 'sigv4':
      return { kind: credential, access_key_id: secret, secret_access_key: secret };
    case 'oauth-pool':
      return { kind: credential, access_token: secret };
    case 'bearer':
    case 'header':
      return { kind: credential, secret };
  }
};

function usageOf(text: string, isStream: boolean): ReportedUsage {
  const parts = isStream ? [...text.matchAll(/^data: (\{.*\})$/gm)].map(([, json = '{}']) => json) : [text];
  const usages = parts.flatMap(
    (part) => (JSON.parse(part) as { readonly usage?: ReportedUsage | null }).usage ?? [],
  );
  return usages.at(-1) ?? {};
}

const nanoOf = (usd: string): bigint => {
  const [dollars = '0', part = ''] = usd.split('.');
  return BigInt(dollars) * 1_000_000_000n + BigInt(part.padEnd(9, '0'));
};

/** Returns the charge of a request; streams contain it in their last usage event. */
const chargeOf = ({ headers, text }: ServiceResponse): string | undefined =>
  headers.get('x-svc-cost-usd') ?? [...text.matchAll(/"cost_usd":"?([\d.]+)/g)].at(-1)?.[1];

const usageCheck: KitCheck = {
  topic: 'suppliers',
  name: 'callers are shown and charged what the supplier counted, once',
  skip: (kit) => skippedUnless(kit.contributions().suppliers, 'it has no suppliers'),
  async run(kit) {
    const service = await kit.service();
    for (const style of kit.contributions().suppliers) {
      const standIn = await StandIn.start();
      try {
        standIn.sample = kit.options.suppliers?.[style.name];
        await service.addModel(modelOf(style), {
          style: style.name,
          base_url: standIn.url,
          regions: ['local'],
          credentials: { kit: secretOf(style) },
          settings: standIn.sample?.settings ?? {},
        });
        for (const isStream of [false, true]) await checkUsage(kit, service, style, standIn, isStream);
      } finally {
        await standIn.stop();
      }
    }
  },
};

const modelOf = ({ name }: SupplierStyleSummary): string => `kit-${name}`;

async function checkUsage(
  kit: Kit,
  service: ServiceProcess,
  style: SupplierStyleSummary,
  standIn: StandIn,
  isStream: boolean,
): Promise<void> {
  const { sample } = standIn;
  if (sample !== undefined && (isStream ? sample.stream : sample.response) === null) return;
  standIn.calls.length = 0;
  standIn.isStreaming = isStream;
  const response = await service.post('/v1/chat/completions', {
    model: modelOf(style),
    stream: isStream,
    ...(isStream && { stream_options: { include_usage: true } }),
    messages: [{ role: 'user', content: `${kit.prompt} ${MARK}` }],
  });
  const what = `${style.name}, ${isStream ? 'streaming' : 'non-streaming'},`;
  const counted = standIn.calls.at(-1);
  if (response.status !== 200 || counted === undefined || !hasEnded(response, isStream)) {
    if (style.hasOwnFormat && sample === undefined)
      throw new Skipped(
        `${style.name} reads an API format of its own; give recorded responses as \`suppliers\``,
      );
    throw new Error(`${what} answered ${response.status}: ${response.text.slice(0, 500)}`);
  }
  const times = counted.body.split(MARK).length - 1;
  if (times > 1) throw new Error(`${what} sent the prompt ${times} times`);
  const { prompt_tokens: input, completion_tokens: output } = usageOf(response.text, isStream);
  const expected = `${counted.input} and ${counted.output} tokens were counted`;
  if (input !== counted.input || output !== counted.output)
    throw new Error(`${what} shows ${input} and ${output} tokens, and ${expected}`);
  const charge = chargeOf(response);
  const minimum =
    BigInt(counted.input) * NANO_PER_INPUT_TOKEN + BigInt(counted.output) * NANO_PER_OUTPUT_TOKEN;
  const hasFees = kit.contributions().fees.length > 0;
  if (charge === undefined || (hasFees ? nanoOf(charge) < minimum : nanoOf(charge) !== minimum))
    throw new Error(`${what} charged ${charge ?? 'nothing'} dollars, and ${expected}`);
}

/** Returns whether a stream is complete; an interrupted one has no end marker. */
const hasEnded = ({ text }: ServiceResponse, isStream: boolean): boolean =>
  !isStream || text.includes('data: [DONE]');

/** Bodies that no supplier documents. */
const oddBodies = [null, 'Bad gateway', 42, [], {}, { error: null }, { error: { message: 7 } }, [[[]]]];

const errorCheck: KitCheck = {
  topic: 'suppliers',
  name: 'odd error bodies and streams that break off are read without a crash',
  skip: (kit) => skippedUnless(kit.contributions().suppliers, 'it has no suppliers'),
  async run(kit) {
    for (const [position, { name, hasUnframer }] of kit.contributions().suppliers.entries()) {
      for (const body of oddBodies) {
        const outcome = await kit.call({ path: ['suppliers', position, 'readError'], values: [body, {}] });
        if (outcome.kind !== 'returned')
          throw new Error(`${name}.readError() ${outcome.error} for ${JSON.stringify(body)}`);
      }
      if (!hasUnframer) continue;
      const { kind, value } = await kit.call({
        path: ['suppliers', position, 'unframer', 'end'],
        values: [],
      });
      if (kind !== 'returned' || value === undefined || value === null)
        throw new Error(`${name}: a stream without an answer ends, and its unframer reports no fault`);
    }
  },
};

export const supplierChecks: readonly KitCheck[] = [usageCheck, errorCheck];
