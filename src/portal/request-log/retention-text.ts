import { Injectable } from '@nestjs/common';
import type { LoggedRequest } from '../../audit';
import { DAY_MS } from '../../kernel';
import { Settings } from '../../platform';
import { SampleContent } from '../../quality';
import { formatTime } from '../../views';
import type { Localisation } from '../../web';

/** Describes whether and until when the content of a request is retained. */
export type RetentionText = (entry: LoggedRequest) => string;

const RESPONSE_RETENTION_MS = DAY_MS;

@Injectable()
export class RetentionTextReader {
  constructor(
    private readonly samples: SampleContent,
    private readonly settings: Settings,
  ) {}

  async load(
    entries: readonly LoggedRequest[],
    { locale, timeZone, translate }: Localisation,
  ): Promise<RetentionText> {
    const sampleEnds = await this.samples.findRetention(entries.map(({ requestId }) => requestId));
    const untilText = (name: string, end: Date): string =>
      translate(`request-log.kept.${name}`, { until: formatTime(locale, timeZone, end, 'minute') });
    return (entry) => {
      if (entry.keyKind === 'webchat') return translate('request-log.kept.conversation');
      const sampleEnd = sampleEnds.get(entry.requestId);
      if (sampleEnd !== undefined) return untilText('sample', sampleEnd);
      const end = new Date(entry.createdAt.getTime() + RESPONSE_RETENTION_MS);
      const isStorable = entry.surface === 'responses' && this.settings.responsesStore === 'on';
      if (isStorable && entry.code === null && end.getTime() > Date.now()) return untilText('response', end);
      return translate('request-log.not-kept');
    };
  }
}
