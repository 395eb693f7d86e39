import { Body, Controller, Req } from '@nestjs/common';
import { RequestLogQuery } from '../../audit';
import { fault } from '../../kernel';
import { AnswerFeedback } from '../../quality';
import { Access, Action, actorOf, done, type ActionResult, type HttpRequest } from '../../web';
import { findAnsweredRequest, OwnThumbs } from './own-thumbs';
import { RequestFeedbackForm } from './request-feedback.dto';

@Controller()
export class RequestFeedbackController {
  constructor(
    private readonly log: RequestLogQuery,
    private readonly feedback: AnswerFeedback,
    private readonly own: OwnThumbs,
  ) {}

  @Action('/dashboard/request-log/feedback', Access.session(), {
    audit: { none: 'a thumb on one’s own answer changes nothing of the service' },
  })
  async give(
    @Body() { request_id: requestId, verdict }: RequestFeedbackForm,
    @Req() request: HttpRequest,
  ): Promise<ActionResult> {
    const { userId } = actorOf(request);
    const { rows } = await this.log.page({ kind: 'user', userId }, { requestId }, { limit: 1 });
    const ratedRequest = rows[0] === undefined ? null : findAnsweredRequest(rows[0], userId);
    if (ratedRequest === null || !(await this.own.isOpen(request)))
      throw fault('not_found', { param: 'request_id', message: 'There is no answer of yours to judge.' });
    await this.feedback.give(ratedRequest, verdict === 'none' ? null : verdict);
    const address = `/dashboard/request-log?request_id=${requestId}&open=${requestId}`;
    return done(address, {
      request_id: requestId,
      verdict: verdict === 'none' ? null : verdict,
    });
  }
}
