import { IsOneNumberOf } from '../../web';
import { DEFAULT_DAYS } from '../lists/periods';
import { overviewPeriods } from './overview-model';

export class OverviewQuery {
  @IsOneNumberOf(overviewPeriods, { default: DEFAULT_DAYS })
  days: number;
}
