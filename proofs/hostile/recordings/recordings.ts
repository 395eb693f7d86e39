import { createHostileRecording, hostileRecordings } from '../../../test/support/hostile-recordings';
import type { Findings } from '../../../test/system/findings';
import { mainThreadMs } from '../main-thread';
import { expectNone, print } from '../offenders';
import { gatewayFile, HostileTestbed } from '../testbed';

const RECORDING_BYTES = 25 * 1024 * 1024;
const MAX_DELAY_MS = 100;
/** Garbage collection may delay any request; a recording that causes delays does so each time. */
const ATTEMPTS = 4;

/**
 * Recordings of maximum size with as many parts as fit: measures how long the main thread is busy while another request
 * waits.
 */
export async function proveRecordings(findings: Findings): Promise<void> {
  const testbed = await HostileTestbed.open({ environment: { LOG_LEVEL: 'info' } });
  try {
    const applied = await testbed.apply(gatewayFile(testbed.supplierUrl));
    if (applied.code !== 0) throw new Error(`gateway.yaml was not applied: ${applied.text}`);
    await testbed.waitForModel('ears');
    const slow: string[] = [];
    for (const name of hostileRecordings) {
      const recording = createHostileRecording(name, RECORDING_BYTES);
      let delayMs = Infinity;
      for (let attempt = 0; attempt < ATTEMPTS && delayMs > MAX_DELAY_MS; attempt += 1)
        delayMs = Math.min(delayMs, await longestDelay(testbed, recording));
      print(`${delayMs.toFixed(0)} ms: ${name}`);
      if (delayMs > MAX_DELAY_MS) slow.push(`${name}: ${delayMs.toFixed(0)} ms`);
    }
    expectNone(
      findings,
      `hostile recordings that delay others by more than ${MAX_DELAY_MS} ms`,
      slow,
      hostileRecordings.length,
    );
  } finally {
    await testbed.close();
  }
}

async function longestDelay(testbed: HostileTestbed, recording: Buffer<ArrayBuffer>): Promise<number> {
  const form = new FormData();
  form.append('model', 'ears');
  form.append('file', new Blob([recording]), 'a');
  let isOver = false;
  const upload = fetch(`${testbed.url}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${testbed.keys.demo}` },
    body: form,
  })
    .then((answer) => answer.arrayBuffer())
    .finally(() => (isOver = true));
  let longest = 0;
  while (!isOver) {
    const before = mainThreadMs(testbed.gateway.pid);
    await (await fetch(`${testbed.url}/health/live`)).arrayBuffer();
    longest = Math.max(longest, mainThreadMs(testbed.gateway.pid) - before);
  }
  await upload;
  return longest;
}
