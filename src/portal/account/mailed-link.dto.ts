import { IsOptional, IsToken } from '../../web';

export class MailedLinkForm {
  @IsToken()
  token: string;
}

export class MailedLinkQuery {
  @IsOptional()
  @IsToken()
  token?: string;
}
