import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Settings } from '../../platform';
import type { StreamSink } from './stream-sink';

/** Every stream that is being sent; those that have fallen silent get a sign of life. */
@Injectable()
export class OpenStreams implements OnApplicationShutdown {
  private readonly open = new Map<StreamSink, string>();
  private readonly timer: NodeJS.Timeout;

  constructor(settings: Settings) {
    this.timer = setInterval(() => this.pingSilent(), settings.streamPingIntervalMs).unref();
  }

  onApplicationShutdown(): void {
    clearInterval(this.timer);
  }

  add(sink: StreamSink, endpoint: string): void {
    this.open.set(sink, endpoint);
    sink.onClose(() => this.open.delete(sink));
  }

  /** How many there are of each endpoint. */
  counts(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const endpoint of this.open.values()) counts.set(endpoint, (counts.get(endpoint) ?? 0) + 1);
    return counts;
  }

  private pingSilent(): void {
    for (const sink of this.open.keys()) sink.ping();
  }
}
