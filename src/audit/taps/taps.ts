import { Injectable } from '@nestjs/common';
import { Extensions } from '../../extensions';
import { OutgoingClient, Settings } from '../../platform';
import { fileSink } from './file-sink';
import { tapOfSink, type RegisteredTap, tapOfExtension } from './registered-tap';
import { webhookSinks } from './webhook-sink';
import { sinksOf } from './sinks';

@Injectable()
export class Taps {
  readonly all: readonly RegisteredTap[];

  constructor(extensions: Extensions, settings: Settings, outgoing: OutgoingClient) {
    const { recordsFile } = settings;
    this.all = [
      ...(recordsFile === undefined ? [] : [tapOfSink('core', fileSink(recordsFile))]),
      ...webhookSinks(settings, outgoing).map((sink) => tapOfSink('http', sink)),
      ...sinksOf(settings, outgoing).map((sink) => tapOfSink(sink.kind, sink)),
      ...extensions.taps.map(tapOfExtension),
    ];
  }

  find(name: string): RegisteredTap | undefined {
    return this.all.find((tap) => tap.name === name);
  }
}
