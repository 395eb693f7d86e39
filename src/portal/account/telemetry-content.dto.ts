import { IsFlag } from '../../web';

export class ContentForm {
  @IsFlag()
  enabled: boolean;
}
