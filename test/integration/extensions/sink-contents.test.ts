import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { startTestApp, type TestApp } from '../../support/app';
import { addCustomer } from '../../support/customer';
import { ObjectStoreStandIn } from '../../support/object-store';
import { makeScratchFolder } from '../../support/scratch';
import { startSimulator } from '../../support/simulator';
import { VendorStandIn } from '../../support/sinks/stand-in';
import { datadogVendor, langfuseVendor, otlpVendor } from '../../support/sinks/vendors';
import { TapSink } from '../../support/tap-sink';
import { until } from '../../support/until';

const QUESTION = 'the-quince-in-the-question';
const SINK_KEY = 'a-key-that-all-of-them-take';
const LANGFUSE_KEY = 'pk-lf-1234:sk-lf-5678';

test('prompts, replies and key secrets are sent to no sink', async () => {
  const scratchFolder = makeScratchFolder('switchboard-contents-');
  const file = join(scratchFolder, 'records.jsonl');
  const supplier = await startSimulator();
  const webhook = await TapSink.open();
  const store = await ObjectStoreStandIn.open();
  const [otlp, langfuse, datadog] = await Promise.all([
    VendorStandIn.open(otlpVendor, SINK_KEY),
    VendorStandIn.open(langfuseVendor, LANGFUSE_KEY),
    VendorStandIn.open(datadogVendor, SINK_KEY),
  ]);
  let app: TestApp | undefined;
  try {
    app = await startTestApp({
      sandboxUrl: supplier.url,
      environment: {
        RECORDS_FILE: file,
        HTTP_TAPS: `hook=${webhook.url}`,
        HTTP_TAP_SECRETS: `hook=whsec_${Buffer.alloc(24, 1).toString('base64')}`,
        SINKS: `a=otlp:${otlp.url},b=langfuse:${langfuse.url},c=datadog:${datadog.url},d=${store.locationText()}&every=0ms`,
        SINK_SECRETS: `a=authorization: Bearer ${SINK_KEY}\nb=${LANGFUSE_KEY}\nc=${SINK_KEY}\nd=${store.key.accessKeyId}:${store.key.secretAccessKey}`,
      },
    });
    const customer = await addCustomer(app, 'discreet', 10n ** 12n);
    const answer = await fetch(`${app.url}/v1/chat/completions`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${customer.key}`,
        'content-type': 'application/json',
        'x-session-id': 'conversation-9',
      },
      body: JSON.stringify({
        model: 'sim-small',
        messages: [{ role: 'user', content: QUESTION }],
        user: 'end-user-7',
      }),
    });
    const reply = await answer.text();
    expect([answer.status, reply]).toEqual([200, expect.any(String)]);
    const { choices } = JSON.parse(reply) as { choices: { message: { content: string } }[] };
    const replyText = choices[0]!.message.content;
    expect(replyText.length).toBeGreaterThan(10);
    const vendorStandIns = [otlp, langfuse, datadog];
    await until(
      () =>
        webhook.accepted.length === 1 &&
        store.keys.length === 1 &&
        vendorStandIns.every(({ stored }) => stored.length === 1),
    );
    await until(() => readFileSync(file, 'utf8').endsWith('\n'));
    const sentText = {
      file: readFileSync(file, 'utf8'),
      webhook: webhook.batches[0]!.body,
      store: gunzipSync(store.bytesOf(store.keys[0]!)!).toString(),
      otlp: otlp.requests[0]!.text,
      langfuse: langfuse.requests[0]!.text,
      datadog: datadog.requests[0]!.text,
    };
    for (const [sink, text] of Object.entries(sentText)) {
      expect([sink, text.includes(answer.headers.get('x-request-id')!)]).toEqual([sink, true]);
      expect([sink, text.includes('end-user-7')]).toEqual([sink, true]);
      for (const content of [QUESTION, replyText, customer.key])
        expect([sink, text.includes(content)]).toEqual([sink, false]);
    }
    for (const text of [sentText.webhook, sentText.langfuse, sentText.store])
      expect(text).toContain('conversation-9');
  } finally {
    await app?.close();
    await Promise.all([webhook, store, otlp, langfuse, datadog].map((one) => one.close()));
    await supplier.stop();
    rmSync(scratchFolder, { recursive: true, force: true });
  }
}, 60_000);
