import { Injectable } from '@nestjs/common';
import type { Tap } from '#extension';
import { Extensions, type Owned } from '../../extensions';
import { OutgoingClient, Settings } from '../../platform';
import { fileTap } from './file-tap';
import { httpTaps } from './http-tap';

/** The taps of the service and those of extensions: all of them come and go by this door. */
@Injectable()
export class Taps {
  readonly all: readonly Owned<Tap>[];

  constructor(extensions: Extensions, settings: Settings, outgoing: OutgoingClient) {
    const { recordsFile } = settings;
    this.all = [
      ...(recordsFile === undefined ? [] : owned('core', [fileTap(recordsFile)])),
      ...owned('http', httpTaps(settings, outgoing)),
      ...extensions.taps,
    ];
  }

  named(name: string): Owned<Tap> | undefined {
    return this.all.find((tap) => tap.name === name);
  }
}

const owned = (owner: string, taps: readonly Tap[]): Owned<Tap>[] =>
  taps.map((part) => ({ extension: owner, name: `${owner}/${part.name}`, part }));
