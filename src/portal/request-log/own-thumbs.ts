import { Injectable } from '@nestjs/common';
import type { LoggedRequest } from '../../audit';
import type { AutoDecision } from '../../autorouter';
import { AnswerFeedback, type AnsweredRequest, type Thumb } from '../../quality';
import type { ThumbsModel } from '../../views';
import { actorOf, type HttpRequest, type Localisation } from '../../web';
import { QualityAccess } from '../engines/quality/quality-access';

/** Returns the thumbs of a request, including the reader's rating; undefined if the reader cannot rate it. */
export type ThumbsLookup = (entry: LoggedRequest) => ThumbsModel | undefined;

const conversations: ReadonlySet<string> = new Set(['chat', 'messages', 'responses']);

/** Returns the request if the user made it and a model answered it; null otherwise. */
export function findAnsweredRequest(entry: LoggedRequest, userId: number): AnsweredRequest | null {
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

/**
 * Lets readers rate replies to their own requests, if their organisation enables evaluation and shows them the results.
 */
@Injectable()
export class OwnThumbs {
  constructor(
    private readonly feedback: AnswerFeedback,
    private readonly quality: QualityAccess,
  ) {}

  async isOpen(request: HttpRequest): Promise<boolean> {
    return (await this.quality.resolve(request)).state === 'open';
  }

  async load(
    request: HttpRequest,
    entries: readonly LoggedRequest[],
    { translate }: Localisation,
  ): Promise<ThumbsLookup> {
    if (!(await this.isOpen(request))) return () => undefined;
    const { userId } = actorOf(request);
    const requestIds = entries.flatMap((entry) => findAnsweredRequest(entry, userId)?.requestId ?? []);
    const ratings: ReadonlyMap<string, Thumb> = await this.feedback.thumbsOf(userId, requestIds);
    return (entry) =>
      findAnsweredRequest(entry, userId) === null
        ? undefined
        : {
            action: '/dashboard/request-log/feedback',
            name: 'request_id',
            value: entry.requestId,
            given: ratings.get(entry.requestId) ?? null,
            label: translate('request-log.thumbs'),
          };
  }
}
