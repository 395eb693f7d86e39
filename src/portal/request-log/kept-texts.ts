import { Injectable } from '@nestjs/common';
import type { LoggedRequest } from '../../audit';
import { DAY_MS } from '../../kernel';
import { Settings } from '../../platform';
import { SampleContent } from '../../quality';
import { formatTime } from '../../views';
import type { Localisation } from '../../web';

/** The words say what is kept of the text of a request. */
export type KeptTexts = (entry: LoggedRequest) => string;

const RESPONSE_MS = DAY_MS;

@Injectable()
export class KeptTextsReader {
  constructor(
    private readonly samples: SampleContent,
    private readonly settings: Settings,
  ) {}

  async of(
    entries: readonly LoggedRequest[],
    { locale, timeZone, translate }: Localisation,
  ): Promise<KeptTexts> {
    const sampled = await this.samples.keptUntil(entries.map(({ requestId }) => requestId));
    const until = (name: string, end: Date): string =>
      translate(`request-log.kept.${name}`, { until: formatTime(locale, timeZone, end, 'minute') });
    return (entry) => {
      if (entry.keyKind === 'webchat') return translate('request-log.kept.conversation');
      const judged = sampled.get(entry.requestId);
      if (judged !== undefined) return until('sample', judged);
      const end = new Date(entry.createdAt.getTime() + RESPONSE_MS);
      const mayBeStored = entry.surface === 'responses' && this.settings.responsesStore === 'on';
      if (mayBeStored && entry.code === null && end.getTime() > Date.now()) return until('response', end);
      return translate('request-log.not-kept');
    };
  }
}
