import { IsToken, IsVerbatimLine } from '../../../web';

export class CompleteQuery {
  @IsVerbatimLine(100, { default: '' })
  token: string;
}

export class ConsentForm {
  /** Identifies the consent that the page showed, as another tab could have started another one. */
  @IsToken()
  state: string;
}
