import 'reflect-metadata';
import { Logger } from '@nestjs/common';
import { stepAside, placement } from './cores';
import type { Figure } from './figures';
import { measureLatency } from './measure-latency';
import { measureRequests } from './measure-requests';
import { measureStreams } from './measure-streams';
import { largePrompt, smallPrompt, stream, streamWithoutUsage, translatedStream } from './prompts';
import { line } from './report';
import { chatStream, messagesStream } from './scripts';
import { Stage } from './stage';

async function main(): Promise<void> {
  Logger.overrideLogger(['error']);
  stepAside();
  process.stdout.write(`${placement}\n`);
  const stage = await Stage.set();
  try {
    const peers = { gateway: await stage.gateway(), bare: await stage.bareProxy(), streaming: await stage.streamingProxy() };
    const rounds = { count: 6, milliseconds: 1_000 };
    const show = (figures: Figure[]): void => {
      for (const figure of figures) process.stdout.write(`${line(figure)}\n`);
    };
    show(await measureRequests(stage, peers, { title: 'small prompt', body: smallPrompt, must: 2, aim: 1.5 }, rounds));
    show(await measureRequests(stage, peers, { title: '32 KB prompt', body: largePrompt, must: 1.7, aim: 1.4 }, rounds));
    show(await measureStreams(stage, peers, { title: 'stream', body: stream, script: chatStream(300), must: 1.3, aim: 1.1 }, rounds));
    show(await measureStreams(stage, peers, { title: 'stream, usage hidden', body: streamWithoutUsage, script: chatStream(300), must: 1.3, aim: 1.1 }, rounds));
    show(await measureStreams(stage, peers, { title: 'stream, 64 events a read', body: stream, script: chatStream(50, 64) }, rounds));
    show(await measureStreams(stage, peers, { title: 'translated', body: translatedStream, script: messagesStream(300), must: 2, aim: 1.6 }, rounds));
    show(await measureLatency(stage, peers, { count: 6, milliseconds: 2_000 }));
  } catch (error) {
    process.stderr.write(stage.lastWords());
    throw error;
  } finally {
    await stage.strike();
  }
}

void main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  process.exit(1);
});
