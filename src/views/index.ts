export { assetBase, type AssetFile, readAssetFiles } from './assets';
export {
  barChart,
  lineChart,
  meter,
  slotOf,
  spark,
  type ChartInput,
  type ChartModel,
  type ChartSeries,
} from './components/chart';
export {
  formatCompact,
  formatCost,
  formatLatency,
  formatMoney,
  formatMoneys,
  formatNumber,
  formatPercent,
  formatTime,
} from './formatting';
export { extensionViewName, loadExtensionViews } from './load-extension-views';
export { type FieldAttributes } from './field-attributes';
export { filterFields } from './components/filter-fields';
export type * from './components/models';
export { scatterChart, type ScatterInput, type ScatterModel } from './components/scatter';
export { column, type TableColumn, mixedColumn, tableOf } from './components/table';
export { claudeCodeSettings, codexSettings, requestSnippets } from './components/snippets';
export { formPageField, type FormsContext, type RefusedForm } from './forms';
export { projectFolder } from './project-folder';
export { controlsOf, type FieldControl, textKeysOf } from './components/controls';
export { type Translate } from './translations';
export {
  defaultViewContext,
  isLocale,
  locales,
  type AdminStrip,
  type Locale,
  type NavigationGroup,
  type ViewContext,
} from './view-context';
export { createViewEngine } from './create-view-engine';
export { ViewEngine } from './view-engine';
export { ViewsModule } from './views.module';
