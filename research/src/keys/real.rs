//! The catalogue of real key sets that can be fetched: where their data are, and how key sets are made of them.

/// A real key set, and the downloads that its file is made of.
#[derive(Debug, Clone, Copy)]
pub struct RealKeys {
    /// The name to fetch it by.
    pub name: &'static str,
    /// The file that is made, in SOSD format.
    pub file: &'static str,
    /// Description of its keys, in one line.
    pub about: &'static str,
    /// Licence of the data, as their source states it.
    pub licence: &'static str,
    /// Number of keys.
    pub count: u64,
    /// Address that the paths of the parts are appended to.
    pub base: &'static str,
    pub(super) parts: &'static [Part],
    pub(super) digest: Digest,
}

/// A download.
#[derive(Debug, Clone, Copy)]
pub(super) struct Part {
    pub(super) path: &'static str,
    pub(super) form: PartForm,
}

/// The form of a download.
#[derive(Debug, Clone, Copy)]
pub(super) enum PartForm {
    /// Compressed by gzip: a line of titles, then lines that begin with a position on this chromosome. The keys are the
    /// chromosome times 2^32 plus the position, over all parts, each once.
    Positions { chromosome: u64 },
    /// A SOSD file, compressed by zstd.
    Sosd,
}

/// The checksum of the file that is made, in hexadecimal digits.
#[derive(Debug, Clone, Copy)]
pub(super) enum Digest {
    Sha256(&'static str),
    /// Where the source states no other one.
    Md5(&'static str),
}

/// All real key sets that can be fetched.
pub fn real_keys() -> &'static [RealKeys] {
    REAL_KEYS
}

const fn map(chromosome: u64, path: &'static str) -> Part {
    Part { path, form: PartForm::Positions { chromosome } }
}

const fn sosd(path: &'static str) -> [Part; 1] {
    [Part { path, form: PartForm::Sosd }]
}

/// Address of a file of SOSD's data set in the Harvard Dataverse, before its number.
const DATAVERSE: &str =
    "https://dataverse.harvard.edu/api/access/datafile/:persistentId?persistentId=doi:10.7910/DVN/JGVF9A/";

const REAL_KEYS: &[RealKeys] = &[
    RealKeys {
        name: "genome_b37",
        file: "genome_b37.u64",
        about: "positions of variants in the human genome, chromosome times 2^32 plus position",
        licence: "MIT",
        count: 3_395_051,
        base: "https://raw.githubusercontent.com/odelaneau/GLIMPSE/867113849925f3100bf8ff125e2b9eb1eff51b37/maps/\
               genetic_maps.b37/",
        parts: GENETIC_MAPS,
        digest: Digest::Sha256("0aebd47e12cb0dfb34161aea860f5211ab5f5042a57896ddf3b1344282227761"),
    },
    RealKeys {
        name: "wiki_ts_200M",
        file: "wiki_ts_200M_uint64",
        about: "times of edits of Wikipedia, in seconds; many are equal (SOSD)",
        licence: "as SOSD states it",
        count: 200_000_000,
        base: DATAVERSE,
        parts: &sosd("SVN8PI"),
        digest: Digest::Md5("4f1402b1c476d67f77d2da4955432f7d"),
    },
    RealKeys {
        name: "fb_200M",
        file: "fb_200M_uint64",
        about: "ids of users of Facebook, a sample with a few huge ones (SOSD)",
        licence: "as SOSD states it",
        count: 200_000_000,
        base: DATAVERSE,
        parts: &sosd("EATHF7"),
        digest: Digest::Md5("3b0f820caa0d62150e87ce94ec989978"),
    },
    RealKeys {
        name: "books_800M",
        file: "books_800M_uint64",
        about: "popularity of books sold by Amazon (SOSD)",
        licence: "as SOSD states it",
        count: 800_000_000,
        base: "https://www.dropbox.com/s/",
        parts: &sosd("y2u3nbanbnbmg7n/books_800M_uint64.zst?dl=1"),
        digest: Digest::Md5("8708eb3e1757640ba18dcd3a0dbb53bc"),
    },
    RealKeys {
        name: "osm_cellids_800M",
        file: "osm_cellids_800M_uint64",
        about: "cells of places in OpenStreetMap (SOSD)",
        licence: "ODbL, (c) OpenStreetMap contributors",
        count: 800_000_000,
        base: "https://www.dropbox.com/s/",
        parts: &sosd("j1d4ufn4fyb4po2/osm_cellids_800M_uint64.zst?dl=1"),
        digest: Digest::Md5("70670bf41196b9591e07d0128a281b9a"),
    },
];

/// Chromosome X, its ends included, counts as 23.
const GENETIC_MAPS: &[Part] = &[
    map(1, "chr1.b37.gmap.gz"),
    map(2, "chr2.b37.gmap.gz"),
    map(3, "chr3.b37.gmap.gz"),
    map(4, "chr4.b37.gmap.gz"),
    map(5, "chr5.b37.gmap.gz"),
    map(6, "chr6.b37.gmap.gz"),
    map(7, "chr7.b37.gmap.gz"),
    map(8, "chr8.b37.gmap.gz"),
    map(9, "chr9.b37.gmap.gz"),
    map(10, "chr10.b37.gmap.gz"),
    map(11, "chr11.b37.gmap.gz"),
    map(12, "chr12.b37.gmap.gz"),
    map(13, "chr13.b37.gmap.gz"),
    map(14, "chr14.b37.gmap.gz"),
    map(15, "chr15.b37.gmap.gz"),
    map(16, "chr16.b37.gmap.gz"),
    map(17, "chr17.b37.gmap.gz"),
    map(18, "chr18.b37.gmap.gz"),
    map(19, "chr19.b37.gmap.gz"),
    map(20, "chr20.b37.gmap.gz"),
    map(21, "chr21.b37.gmap.gz"),
    map(22, "chr22.b37.gmap.gz"),
    map(23, "chrX.b37.gmap.gz"),
    map(23, "chrX_par1.b37.gmap.gz"),
    map(23, "chrX_par2.b37.gmap.gz"),
];
