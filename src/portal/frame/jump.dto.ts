import { IsFilterText } from '../../web';

export class JumpQuery {
  @IsFilterText()
  q?: string;
}
