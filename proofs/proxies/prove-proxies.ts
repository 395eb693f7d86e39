import 'reflect-metadata';
import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import { freePort } from '../../test/system/free-port';
import { partsFromArguments, runProof } from '../../test/system/findings';
import { closeConnections } from '../failover/caller';
import { longStreamShot, mixedShot } from '../outages/catalogue';
import { checkAnswers, checkBooks } from '../outages/checks';
import type { OutageDrillContext } from '../outages/drill';
import { call, type Endpoint, isServed, Load, tally, times } from '../outages/load';
import { OutageReport, seconds, spread } from '../outages/report';
import { type GatewayProcess, OutageTestbed } from '../outages/testbed';
import { isInstalled, ReverseProxy, type ProxyName, proxyNames } from './proxy';

const CALLS_PER_SECOND = 20;
const STREAMS = 20;
/** Some streams outlast the drain notice, but none the drain timeout. */
const STREAM_SECONDS = 30;
const NODE = { DRAIN_NOTICE: '21s', DRAIN_TIMEOUT: '45s' };
/** A proxy re-admits a node after the second successful health check, one every two seconds. */
const READMISSION_MS = 6_000;
const STREAMED_SECONDS = 4;

/** Restarts two nodes under load behind each installed Debian proxy, with the files of `deploy/proxies`. */
async function main(): Promise<void> {
  const selectedProxies = partsFromArguments(proxyNames);
  Logger.overrideLogger(['error']);
  const report = new OutageReport('prove:proxies');
  const testbed = await OutageTestbed.open();
  const exitOnFailure = (): void => void testbed.close().finally(() => process.exit(1));
  process.once('SIGINT', exitOnFailure).once('SIGTERM', exitOnFailure);
  try {
    for (const name of proxyNames.filter((each) => selectedProxies.includes(each)))
      if (isInstalled(name)) await restartBehind(name, { testbed, report, isQuick: false });
      else report.addSkipped(name, `apt-get install ${name} brings it`);
  } finally {
    closeConnections();
    await testbed.close();
  }
  report.end();
}

async function restartBehind(name: ProxyName, context: OutageDrillContext): Promise<void> {
  const { testbed, report } = context;
  const ports = [await freePort(), await freePort()];
  const start = (index: number): Promise<GatewayProcess> =>
    testbed.startNode(`${name}-${index}`, { environment: NODE, port: ports[index]! });
  const nodes = [await start(0), await start(1)];
  const proxy = await ReverseProxy.start(name, ports, testbed.postgres.folder);
  const endpoint = { url: proxy.url, key: testbed.key };
  try {
    await checkStreaming(name, endpoint, report);
    const load = new Load([endpoint], mixedShot).start(CALLS_PER_SECOND);
    const streams = [];
    const stopTimes = [];
    for (const index of [0, 1]) {
      for (let count = 0; count < STREAMS; count += 1)
        streams.push(call(endpoint, longStreamShot(count, STREAM_SECONDS)));
      await delay(1_000);
      const stopRequestedAt = performance.now();
      nodes[index]!.program.signal('SIGTERM');
      await nodes[index]!.program.ended;
      stopTimes.push(seconds(performance.now() - stopRequestedAt));
      nodes[index] = await start(index);
      await delay(READMISSION_MS);
    }
    await load.stop();
    const streamResults = await Promise.all(streams);
    checkAnswers(context, `${name}: short calls`, load.seen, []);
    checkAnswers(context, `${name}: streams of ${STREAM_SECONDS} s`, streamResults, []);
    const lostRecords = await checkBooks(context, name, [...load.served, ...streamResults.filter(isServed)]);
    report.row({
      outage: `${name}: two nodes restarted at ${CALLS_PER_SECOND}/s with ${STREAMS} open streams`,
      answers: `${tally(load.seen)}; streams ${tally(streamResults)}`,
      time: spread(times(load.seen)),
      lost: lostRecords,
      recovery: `gone after ${stopTimes.join(', ')}`,
    });
  } finally {
    await proxy.stop();
    await Promise.all(nodes.map((node) => node.stop()));
  }
}

/** A buffering proxy forwards nothing before the end of the response. */
async function checkStreaming(name: ProxyName, { url, key }: Endpoint, report: OutageReport): Promise<void> {
  const { model, prompt } = longStreamShot(0, STREAMED_SECONDS);
  const startedAt = performance.now();
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: prompt }] }),
  });
  const reader = response.body!.getReader();
  await reader.read();
  const firstChunkMs = performance.now() - startedAt;
  while (!(await reader.read()).done);
  const totalMs = performance.now() - startedAt;
  report.check(
    `${name}: a stream of ${STREAMED_SECONDS} s goes out as it comes`,
    'begun in half of its time',
    `first bytes after ${seconds(firstChunkMs)} of ${seconds(totalMs)}`,
    response.status === 200 && firstChunkMs < totalMs / 2,
  );
}

runProof(main);
