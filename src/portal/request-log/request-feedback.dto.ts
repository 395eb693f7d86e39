import { thumbs } from '../../quality';
import { IsIn, IsUUID } from '../../web';

const verdicts = [...thumbs, 'none'] as const;

export class RequestFeedbackForm {
  @IsUUID()
  request_id: string;

  @IsIn(verdicts)
  verdict: (typeof verdicts)[number];
}
