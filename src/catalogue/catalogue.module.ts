import { Module } from '@nestjs/common';
import { CatalogueEditor } from './catalogue-editor.service';
import { CatalogueService } from './catalogue.service';
import { PriceService } from './price.service';

@Module({
  providers: [CatalogueService, CatalogueEditor, PriceService],
  exports: [CatalogueService, CatalogueEditor, PriceService],
})
export class CatalogueModule {}
