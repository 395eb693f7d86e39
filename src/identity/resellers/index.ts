export { type ResellerDomain, ResellerDomains, wrongLogo } from './reseller-domains.service';
