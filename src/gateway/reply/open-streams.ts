import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { type SwapListMember, SwapList } from '../../kernel';
import { Settings } from '../../platform';
import type { StreamSink } from './stream-sink';

interface OpenStream extends SwapListMember {
  readonly sink: StreamSink;
  readonly endpoint: string;
}

/** Holds all open streams; silent streams get a keep-alive comment. */
@Injectable()
export class OpenStreams implements OnApplicationShutdown {
  private readonly open = new SwapList<OpenStream>();
  private readonly timer: NodeJS.Timeout;

  constructor(settings: Settings) {
    this.timer = setInterval(() => this.pingSilent(), settings.streamPingIntervalMs).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  add(sink: StreamSink, endpoint: string): void {
    const stream = { sink, endpoint, index: -1 };
    this.open.add(stream);
    sink.onClose(() => this.open.remove(stream));
  }

  counts(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const { endpoint } of this.open.all()) counts.set(endpoint, (counts.get(endpoint) ?? 0) + 1);
    return counts;
  }

  private pingSilent(): void {
    for (const { sink } of this.open.all()) sink.ping();
  }
}
