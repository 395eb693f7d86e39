import { IsOneNumberOf } from '../../web';
import { periods } from './periods';

export class HomeQuery {
  @IsOneNumberOf(periods, { default: 24 })
  hours: number;
}
