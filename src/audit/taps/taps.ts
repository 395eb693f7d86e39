import { Injectable } from '@nestjs/common';
import { Extensions } from '../../extensions';
import { OutgoingClient, Settings } from '../../platform';
import { fileSink } from './file-tap';
import { heldSink, type HeldTap, heldTap } from './held-tap';
import { webhookSinks } from './http-tap';
import { sinksOf } from './sinks';

/** The taps of the service and those of extensions: all of them come and go by this door. */
@Injectable()
export class Taps {
  readonly all: readonly HeldTap[];

  constructor(extensions: Extensions, settings: Settings, outgoing: OutgoingClient) {
    const { recordsFile } = settings;
    this.all = [
      ...(recordsFile === undefined ? [] : [heldSink('core', fileSink(recordsFile))]),
      ...webhookSinks(settings, outgoing).map((sink) => heldSink('http', sink)),
      ...sinksOf(settings, outgoing).map((sink) => heldSink(sink.kind, sink)),
      ...extensions.taps.map(heldTap),
    ];
  }

  named(name: string): HeldTap | undefined {
    return this.all.find((tap) => tap.name === name);
  }
}
