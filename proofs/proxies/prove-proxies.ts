import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { freePort } from '../../test/system/free-port';
import { partsGiven, runProof } from '../../test/system/findings';
import { closeConnections } from '../failover/caller';
import { longStream, mixed } from '../outages/catalogue';
import { checkAnswers, checkBooks } from '../outages/checks';
import type { DrillContext } from '../outages/drill';
import { call, type Endpoint, isServed, Load, tally, times } from '../outages/load';
import { Report, seconds, spread } from '../outages/report';
import { type GatewayNode, Testbed } from '../outages/testbed';
import { isInstalled, Proxy, type ProxyName, proxyNames } from './proxy';

const CALLS_A_SECOND = 20;
const STREAMS = 20;
/** Some of the streams outlast the notice, and none the time to drain. */
const STREAM_SECONDS = 30;
const NODE = { DRAIN_NOTICE: '21s', DRAIN_TIMEOUT: '45s' };
/** A proxy takes a node back at the second good look, and looks every two seconds. */
const BACK_MS = 6_000;
const STREAMED_SECONDS = 4;

/** Two nodes are restarted under load behind each proxy of Debian that is there, with the files of `deploy/proxies`. */
async function main(): Promise<void> {
  const wanted = partsGiven(proxyNames);
  Logger.overrideLogger(['error']);
  const report = new Report('prove:proxies');
  const testbed = await Testbed.open();
  const leave = (): void => void testbed.close().finally(() => process.exit(1));
  process.once('SIGINT', leave).once('SIGTERM', leave);
  try {
    for (const name of proxyNames.filter((each) => wanted.includes(each)))
      if (isInstalled(name)) await restartBehind(name, { testbed, report, quick: false });
      else report.leaveOut(name, `apt-get install ${name} brings it`);
  } finally {
    closeConnections();
    await testbed.close();
  }
  report.end();
}

async function restartBehind(name: ProxyName, context: DrillContext): Promise<void> {
  const { testbed, report } = context;
  const ports = [await freePort(), await freePort()];
  const start = (place: number): Promise<GatewayNode> =>
    testbed.node(`${name}-${place}`, { environment: NODE, port: ports[place]! });
  const nodes = [await start(0), await start(1)];
  const proxy = await Proxy.start(name, ports, testbed.postgres.folder);
  const endpoint = { url: proxy.url, key: testbed.key };
  try {
    await checkStreaming(name, endpoint, report);
    const load = new Load([endpoint], mixed).start(CALLS_A_SECOND);
    const streams = [];
    const gone = [];
    for (const place of [0, 1]) {
      for (let count = 0; count < STREAMS; count += 1)
        streams.push(call(endpoint, longStream(count, STREAM_SECONDS)));
      await delay(1_000);
      const askedAt = performance.now();
      nodes[place]!.program.signal('SIGTERM');
      await nodes[place]!.program.ended;
      gone.push(seconds(performance.now() - askedAt));
      nodes[place] = await start(place);
      await delay(BACK_MS);
    }
    await load.stop();
    const whole = await Promise.all(streams);
    checkAnswers(context, `${name}: short calls`, load.seen, []);
    checkAnswers(context, `${name}: streams of ${STREAM_SECONDS} s`, whole, []);
    const lost = await checkBooks(context, name, [...load.served, ...whole.filter(isServed)]);
    report.row({
      outage: `${name}: two nodes restarted at ${CALLS_A_SECOND}/s with ${STREAMS} open streams`,
      answers: `${tally(load.seen)}; streams ${tally(whole)}`,
      time: spread(times(load.seen)),
      lost,
      recovery: `gone after ${gone.join(', ')}`,
    });
  } finally {
    await proxy.stop();
    await Promise.all(nodes.map((node) => node.stop()));
  }
}

/** A proxy that collects an answer hands nothing on before its end. */
async function checkStreaming(name: ProxyName, { url, key }: Endpoint, report: Report): Promise<void> {
  const { model, prompt } = longStream(0, STREAMED_SECONDS);
  const startedAt = performance.now();
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: prompt }] }),
  });
  const reader = response.body!.getReader();
  await reader.read();
  const first = performance.now() - startedAt;
  while (!(await reader.read()).done);
  const whole = performance.now() - startedAt;
  report.check(
    `${name}: a stream of ${STREAMED_SECONDS} s goes out as it comes`,
    'begun in half of its time',
    `first bytes after ${seconds(first)} of ${seconds(whole)}`,
    response.status === 200 && first < whole / 2,
  );
}

runProof(main);
