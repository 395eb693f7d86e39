import { IsOptional, Length } from '../../web';

export class PricingQuery {
  @IsOptional()
  @Length(0, 40)
  amount?: string;
}
