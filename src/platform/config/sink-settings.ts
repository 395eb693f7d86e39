import 'reflect-metadata';
import { BackupSettings } from './backup-settings';
import { Setting } from './setting.decorator';
import { sinks, type SinkSetting, sinkSecrets } from './sinks';

export abstract class SinkSettings extends BackupSettings {
  @Setting({
    name: 'SINKS',
    group: 'Extensions',
    describe:
      'Where every settled request is sent besides: NAME=s3://BUCKET/PREFIX#region=…, NAME=langfuse:URL, NAME=otlp:URL, NAME=datadog:SITE with commas between them (docs/sinks.md).',
    as: sinks,
    default: '',
  })
  readonly sinks: readonly SinkSetting[];

  @Setting({
    name: 'SINK_SECRETS',
    group: 'Extensions',
    describe:
      'What each of SINKS is authorised with: NAME=ACCESS_KEY_ID:SECRET for s3, NAME=pk-…:sk-… for langfuse, NAME=API_KEY for datadog, NAME=HEADER: VALUE for otlp, with commas or line ends between them.',
    as: sinkSecrets,
    default: '',
    secret: true,
  })
  readonly sinkSecrets: ReadonlyMap<string, readonly string[]>;
}
