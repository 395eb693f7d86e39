import { IfPresent, IsVerbatimLine } from '../../web';

export class NewKeyQuery {
  /** Model preselected by a link from the model list. */
  @IfPresent()
  @IsVerbatimLine(200)
  model?: string;
}
