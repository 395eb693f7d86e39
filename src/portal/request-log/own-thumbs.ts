import { Injectable } from '@nestjs/common';
import type { LoggedRequest } from '../../audit';
import type { AutoDecision } from '../../autorouter';
import { AnswerFeedback, type AnsweredRequest, type Thumb } from '../../quality';
import type { ThumbsModel } from '../../views';
import { actorOf, type HttpRequest, type Localisation } from '../../web';
import { QualityAccess } from '../engines/quality/quality-access';

/** The reader of a page may judge these answers, and sees what they said already. */
export type Thumbs = (entry: LoggedRequest) => ThumbsModel | undefined;

const conversations: ReadonlySet<string> = new Set(['chat', 'messages', 'responses']);

/** The person themselves asked and a model answered; null for everything else. */
export function answeredIn(entry: LoggedRequest, userId: number): AnsweredRequest | null {
  const { requestId, organisationId, surface, servedModel, code, status, model } = entry;
  if (entry.userId !== userId || servedModel === null || code !== null || status >= 400) return null;
  if (!conversations.has(surface)) return null;
  const decision = entry.autoDecision as AutoDecision | null;
  return {
    requestId,
    userId,
    organisationId,
    model: decision?.answered_by ?? decision?.chosen ?? model ?? servedModel,
  };
}

/** Readers judge answers to their own requests where the organisation has answers judged and lets them see it. */
@Injectable()
export class OwnThumbs {
  constructor(
    private readonly feedback: AnswerFeedback,
    private readonly quality: QualityAccess,
  ) {}

  async isOpen(request: HttpRequest): Promise<boolean> {
    return (await this.quality.of(request)).state === 'open';
  }

  async of(
    request: HttpRequest,
    entries: readonly LoggedRequest[],
    { translate }: Localisation,
  ): Promise<Thumbs> {
    if (!(await this.isOpen(request))) return () => undefined;
    const { userId } = actorOf(request);
    const own = entries.flatMap((entry) => answeredIn(entry, userId)?.requestId ?? []);
    const given: ReadonlyMap<string, Thumb> = await this.feedback.thumbsOf(userId, own);
    return (entry) =>
      answeredIn(entry, userId) === null
        ? undefined
        : {
            action: '/dashboard/request-log/feedback',
            name: 'request_id',
            value: entry.requestId,
            given: given.get(entry.requestId) ?? null,
            label: translate('request-log.thumbs'),
          };
  }
}
