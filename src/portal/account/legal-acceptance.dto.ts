import { IsNextPath } from '../../web';

export class AcceptanceForm {
  @IsNextPath()
  next?: string;
}
