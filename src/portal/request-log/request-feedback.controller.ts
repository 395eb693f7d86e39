import { Body, Controller, Req } from '@nestjs/common';
import { IsIn, IsUUID } from '../../platform';
import { RequestLogQuery } from '../../audit';
import { fault } from '../../kernel';
import { AnswerFeedback, thumbs } from '../../quality';
import { Access, Action, actorOf, done, type Done, type HttpRequest } from '../../web';
import { answeredIn, OwnThumbs } from './own-thumbs';

const verdicts = [...thumbs, 'none'] as const;

class RequestFeedbackForm {
  @IsUUID()
  request_id: string;

  @IsIn(verdicts)
  verdict: (typeof verdicts)[number];
}

/** A thumb on the answer to one of one's own requests. */
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
  ): Promise<Done> {
    const { userId } = actorOf(request);
    const { rows } = await this.log.page({ kind: 'user', userId }, { requestId }, { limit: 1 });
    const answered = rows[0] === undefined ? null : answeredIn(rows[0], userId);
    if (answered === null || !(await this.own.isOpen(request)))
      throw fault('not_found', { param: 'request_id', message: 'There is no answer of yours to judge.' });
    await this.feedback.give(answered, verdict === 'none' ? null : verdict);
    const address = `/dashboard/request-log?request_id=${requestId}&open=${requestId}`;
    return done(address, {
      request_id: requestId,
      verdict: verdict === 'none' ? null : verdict,
    });
  }
}
